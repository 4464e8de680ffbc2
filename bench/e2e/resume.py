"""How long a resumed epoch takes to its first batch, by where it goes on, and what is made for it."""

import argparse
import pathlib
import time

import harness
import headrace
import torch
from headrace.loader.seam import state_of
from headrace.service.report import REPORT
from torch.utils.data import Subset
from torchvision import datasets, transforms

BATCH_SIZE = 16
TAKEN = 4  # batches of the run whose state it is
PLACES = (0, 1_000, 10_000, 100_000)


class Own(datasets.ImageFolder):
    """A class of the program: it has no native form, so it runs as Python in lanes."""


def make_loader(cls: type, folder: pathlib.Path) -> headrace.DataLoader:
    torch.manual_seed(1)
    transform = transforms.Compose(
        [
            transforms.RandomResizedCrop(224),
            transforms.RandomHorizontalFlip(),
            transforms.ToTensor(),
        ]
    )
    data = cls(folder, transform)
    keys = torch.arange((max(PLACES) + 100) * BATCH_SIZE).remainder_(len(data)).tolist()
    return headrace.DataLoader(Subset(data, keys), BATCH_SIZE, shuffle=True, num_workers=2)


def state_at(place: int, state: dict) -> dict:
    """A state of `place` batches as a run that long would have it: its lanes have drawn more often."""
    state = dict(state, batches=place)
    if "lanes_from" in state:
        state["lanes_from"] = place
    if "lane_draws" in state:
        state["lane_draws"] = [draws * place // TAKEN for draws in state["lane_draws"]]
    return state


def resume(cls: type, folder: pathlib.Path, state: dict) -> tuple[float, int]:
    """Seconds from load_state_dict to the first batch, and samples that workers made."""
    loader = make_loader(cls, folder)
    started = time.perf_counter()
    loader.load_state_dict(state)
    iterator = iter(loader)
    next(iterator)
    seconds = time.perf_counter() - started
    REPORT.as_dict()
    made = sum(state_of(loader).report.samples_by_worker.values())
    return seconds, made


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=harness.PHOTOS)
    parser.add_argument("--pairs", type=int, default=3)
    args = parser.parse_args()
    photos = harness.describe_photos(args.data)
    rows, figures = [], {}
    for kind, cls in (("native", datasets.ImageFolder), ("Python stage", Own)):
        loader = make_loader(cls, args.data)
        iterator = iter(loader)
        for _ in range(TAKEN):
            next(iterator)
        state = loader.state_dict()
        del iterator
        runs = {place: [] for place in PLACES}
        for _ in range(args.pairs):
            for place in PLACES:
                runs[place].append(resume(cls, args.data, state_at(place, state)))
        for place, results in runs.items():
            seconds = harness.spread([seconds for seconds, _ in results])
            made = max(made for _, made in results)
            rows.append((f"{kind}: at batch {place:,}, s", harness.show(seconds)))
            rows.append((f"{kind}: samples made by then, at most", str(made)))
            figures[f"{kind} {place}"] = {"seconds": seconds, "samples": made}
    harness.write_report(
        "resume",
        f"From load_state_dict to the first batch of {BATCH_SIZE}",
        rows,
        {"photos": photos, "resume": figures},
    )


if __name__ == "__main__":
    main()
