"""The data set that cases of state derive from."""

import numpy as np
from bits import epochs
from torch.utils.data import DataLoader, Dataset


class Keeps(Dataset):
    """`count()` is how many samples its lane made before this one; it shows after five."""

    def __init__(self):
        self.n, self.log, self.held = 0, [], {}
        self.array = np.zeros(1, np.int64)

    def __len__(self):
        return 36

    def count(self):
        raise NotImplementedError

    def __getitem__(self, index):
        return index + 1000 * max(0, self.count() - 5)

    def run(self):
        epochs(DataLoader(self, 2, num_workers=2, prefetch_factor=3), 2)
