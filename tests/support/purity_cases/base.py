"""What the cases have in common."""

import numpy as np
import torch


class Rows:
    def __init__(self):
        self.n = 0
        self.log = []
        self.seen = {}
        self.bank = set()
        self.array = np.zeros(4)
        self.tensor = torch.zeros(4)
        self.rows = [(f"name{i}", i % 3) for i in range(8)]
        self.mode = "plain"

    def __len__(self):
        return 8
