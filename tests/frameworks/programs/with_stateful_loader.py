"""torchdata's StatefulDataLoader: stopped in the middle of an epoch, resumed by another loader."""

import sys

import torch
from common import tell, train_set
from torchdata.stateful_dataloader import StatefulDataLoader


def make(folder: str) -> StatefulDataLoader:
    return StatefulDataLoader(train_set(folder), 4, shuffle=True, num_workers=2)


if __name__ == "__main__":
    torch.manual_seed(9)
    loader = make(sys.argv[1])
    state = None
    for step, (images, labels) in enumerate(loader):
        tell(0, step, images, labels)
        if step == 3:
            state = loader.state_dict()
    loader = make(sys.argv[1])
    loader.load_state_dict(state)
    for step, (images, labels) in enumerate(loader):
        tell(1, step, images, labels)
