"""torchdata's StatefulDataLoader, imported before torch; resumed from a state in the second epoch."""

import sys
import warnings

from torchdata.stateful_dataloader import StatefulDataLoader

# isort: split
import torch
from common import train_set
from told import tell

warnings.filterwarnings("ignore", "'set_vital'")  # torchdata's own


def loader(folder: str) -> StatefulDataLoader:
    return StatefulDataLoader(train_set(folder), 4, shuffle=True, num_workers=2)


if __name__ == "__main__":
    torch.manual_seed(9)
    first = loader(sys.argv[1])
    for step, (images, labels) in enumerate(first):
        tell((0, step), len(labels), (images, labels))
    for step, (images, labels) in enumerate(first):
        tell((1, step), len(labels), (images, labels))
        if step == 2:
            break
    torch.save(first.state_dict(), f"{sys.argv[2]}/state")
    again = loader(sys.argv[1])
    again.load_state_dict(torch.load(f"{sys.argv[2]}/state"))
    for step, (images, labels) in enumerate(again, start=3):
        tell((1, step), len(labels), (images, labels))
