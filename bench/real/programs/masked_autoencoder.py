"""Pre-training of a masked autoencoder: crops and flips of a folder, nothing else."""

import torchvision.datasets as datasets
import torchvision.transforms as transforms
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, RandomSampler


def get_args_parser():
    made = parser(__doc__, batch_size=32)
    made.add_argument("--input_size", default=224, type=int)
    made.add_argument("--pin_mem", action="store_true")
    return made


def main(args):
    seed_all(0)
    transform_train = transforms.Compose(
        [
            transforms.RandomResizedCrop(args.input_size, scale=(0.2, 1.0), interpolation=3),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
            transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225]),
        ]
    )
    dataset_train = datasets.ImageFolder(f"{args.data}/photos", transform=transform_train)
    sampler_train = RandomSampler(dataset_train)
    data_loader_train = DataLoader(
        dataset_train,
        sampler=sampler_train,
        batch_size=args.batch_size,
        num_workers=args.workers,
        pin_memory=args.pin_mem,
        drop_last=True,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for samples, _ in recorder.epoch(data_loader_train):
            assert samples.shape[1:] == (3, args.input_size, args.input_size)
    recorder.finish()


if __name__ == "__main__":
    main(get_args_parser().parse_args())
