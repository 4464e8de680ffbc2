"""A stream of tars: shards shuffled by epoch, split by worker, grouped by key, a shuffle buffer, decoded pictures."""

import io
import json
import os
import random
import tarfile
from pathlib import Path

from made_here import made
from PIL import Image
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, IterableDataset, get_worker_info
from torchvision import transforms


def make_tars(folder, rng, data):
    notes = json.loads(Path(data, "notes.json").read_text())[:144]
    for shard in range(6):
        with tarfile.open(folder / f"train-{shard:04}.tar", "w") as tar:
            for note in notes[shard::6]:
                for ext, body in (
                    ("jpg", Path(data, note["file"]).read_bytes()),
                    ("cls", str(note["label"]).encode()),
                    ("json", json.dumps({"caption": note["captions"][0]}).encode()),
                ):
                    info = tarfile.TarInfo(f"{note['stem']}.{ext}")
                    info.size = len(body)
                    tar.addfile(info, io.BytesIO(body))


def group_by_keys(files):
    current = None
    for name, body in files:
        prefix, suffix = os.path.splitext(name)
        if current is None or prefix != current["__key__"]:
            if current is not None:
                yield current
            current = {"__key__": prefix}
        current[suffix[1:]] = body
    if current is not None:
        yield current


def shuffled(samples, size, rng):
    buffer = []
    for sample in samples:
        buffer.append(sample)
        if len(buffer) >= size:
            at = rng.randrange(len(buffer))
            buffer[at], buffer[-1] = buffer[-1], buffer[at]
            yield buffer.pop()
    rng.shuffle(buffer)
    yield from buffer


class TarPipeline(IterableDataset):
    def __init__(self, urls, transform, buffer=40):
        self.urls, self.transform, self.buffer = urls, transform, buffer
        self.epoch = -1

    def files(self, urls):
        for url in urls:
            with tarfile.open(url, "r|") as stream:
                for member in stream:
                    if member.isreg():
                        yield member.name, stream.extractfile(member).read()

    def __iter__(self):
        self.epoch += 1
        rng = random.Random(1000 + self.epoch)
        urls = list(self.urls)
        rng.shuffle(urls)
        info = get_worker_info()
        if info is not None:
            urls = urls[info.id :: info.num_workers]
        for sample in shuffled(group_by_keys(self.files(urls)), self.buffer, rng):
            image = Image.open(io.BytesIO(sample["jpg"]))
            image.load()
            yield (
                self.transform(image.convert("RGB")),
                int(sample["cls"]),
                json.loads(sample["json"])["caption"],
            )


if __name__ == "__main__":
    args = parser(__doc__).parse_args()
    seed_all(9)
    folder = made(args.data, "tars", lambda f, r: make_tars(f, r, args.data))
    transform = transforms.Compose([
        transforms.RandomResizedCrop(144), transforms.RandomHorizontalFlip(), transforms.ToTensor(),
    ])  # fmt: skip
    dataset = TarPipeline(sorted(map(str, folder.glob("*.tar"))), transform)
    loader = DataLoader(
        dataset, args.batch_size, num_workers=args.workers, persistent_workers=args.workers > 0
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, _classes, _captions in recorder.epoch(loader):
            assert images.shape[2] == 144
    recorder.finish()
