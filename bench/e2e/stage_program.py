"""A training program with a train loader and one for each evaluation, all with code of its own.

Prints, for each loader, the seconds from iter() to its first batch. It does not know Headrace.
"""

import argparse
import json
import pathlib
import time

from PIL import Image
from torch.utils.data import DataLoader, Dataset
from torchvision import transforms

EVALUATIONS = 3


class Pictures(Dataset):
    def __init__(self, files: list[pathlib.Path], training: bool) -> None:
        crop = transforms.RandomResizedCrop(96) if training else transforms.CenterCrop(96)
        self.files = files
        self.transform = transforms.Compose([crop, transforms.ToTensor()])

    def __len__(self) -> int:
        return len(self.files)

    def __getitem__(self, index: int) -> tuple:
        with Image.open(self.files[index]) as picture:
            return self.transform(picture.convert("RGB")), index % 10


def hugging_face(files: list[pathlib.Path]) -> Dataset:
    """The same files as a data set of Hugging Face's, and its image processor."""
    import datasets
    import transformers

    datasets.disable_progress_bars()
    processor = transformers.ViTImageProcessor(size={"height": 96, "width": 96})

    def prepare(rows: dict) -> dict:
        pictures = [Image.open(file).convert("RGB") for file in rows["file"]]
        return {
            "pixel_values": processor(pictures, return_tensors="pt")["pixel_values"],
            "label": rows["label"],
        }

    columns = {"file": [str(file) for file in files], "label": [n % 10 for n in range(len(files))]}
    return datasets.Dataset.from_dict(columns).with_transform(prepare)


def first_batch(data: Dataset, shuffle: bool) -> float:
    loader = DataLoader(data, batch_size=8, num_workers=2, shuffle=shuffle)
    started = time.perf_counter()
    batches = iter(loader)
    next(batches)
    seconds = time.perf_counter() - started
    for _ in batches:
        pass
    return seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("libraries", choices=("torchvision", "transformers"))
    parser.add_argument("data", type=pathlib.Path)
    args = parser.parse_args()
    files = sorted(path for path in args.data.rglob("*") if path.is_file())[:64]
    if args.libraries == "torchvision":
        train, valid = Pictures(files[:48], True), Pictures(files[48:], False)
    else:
        train, valid = hugging_face(files[:48]), hugging_face(files[48:])
    seconds = [first_batch(train, True)]
    seconds += [first_batch(valid, False) for _ in range(EVALUATIONS)]
    print(json.dumps({"first_batch_s": seconds}))


if __name__ == "__main__":
    main()
