"""A GAN for super-resolution: random crops of pictures, and the same scaled down by PIL through transforms."""

from os import listdir
from os.path import join

from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader
from torch.utils.data.dataset import Dataset
from torchvision.transforms import Compose, RandomCrop, Resize, ToPILImage, ToTensor


def is_image_file(filename):
    return any(
        filename.endswith(extension) for extension in [".png", ".jpg", ".jpeg", ".PNG", ".JPG"]
    )


def calculate_valid_crop_size(crop_size, upscale_factor):
    return crop_size - (crop_size % upscale_factor)


def train_hr_transform(crop_size):
    return Compose([RandomCrop(crop_size), ToTensor()])


def train_lr_transform(crop_size, upscale_factor):
    return Compose(
        [ToPILImage(), Resize(crop_size // upscale_factor, interpolation=Image.BICUBIC), ToTensor()]
    )


class TrainDatasetFromFolder(Dataset):
    def __init__(self, dataset_dir, crop_size, upscale_factor):
        super().__init__()
        self.image_filenames = [
            join(dataset_dir, folder, x)
            for folder in sorted(listdir(dataset_dir))
            for x in sorted(listdir(join(dataset_dir, folder)))
            if is_image_file(x)
        ]
        crop_size = calculate_valid_crop_size(crop_size, upscale_factor)
        self.hr_transform = train_hr_transform(crop_size)
        self.lr_transform = train_lr_transform(crop_size, upscale_factor)

    def __getitem__(self, index):
        hr_image = self.hr_transform(Image.open(self.image_filenames[index]))
        lr_image = self.lr_transform(hr_image)
        return lr_image, hr_image

    def __len__(self):
        return len(self.image_filenames)


if __name__ == "__main__":
    options = parser(__doc__)
    options.add_argument("--crop_size", default=88, type=int, help="training images crop size")
    options.add_argument("--upscale_factor", default=4, type=int, choices=[2, 4, 8])
    opt = options.parse_args()
    seed_all(15)
    train_set = TrainDatasetFromFolder(f"{opt.data}/photos", opt.crop_size, opt.upscale_factor)
    train_loader = DataLoader(
        dataset=train_set, num_workers=opt.workers, batch_size=opt.batch_size, shuffle=True
    )
    recorder = Recorder()
    for _ in range(opt.epochs):
        running = {"batch_sizes": 0}
        for data, target in recorder.epoch(train_loader):
            running["batch_sizes"] += data.size(0)
            assert target.size(0) == data.size(0)
    recorder.finish()
