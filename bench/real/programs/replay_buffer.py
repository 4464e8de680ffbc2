"""Reinforcement learning: a replay buffer in memory maps that the program writes between epochs, n-step returns."""

import tempfile
from pathlib import Path

import numpy as np
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset, RandomSampler


class ReplayBuffer(Dataset):
    def __init__(self, folder, size, obs=(4, 42, 42), n_step=3, gamma=0.99, stack=4):
        self.size, self.n_step, self.gamma, self.stack = size, n_step, gamma, stack
        self.obs = np.memmap(folder / "obs.bin", np.uint8, "w+", shape=(size, *obs[1:]))
        self.act = np.memmap(folder / "act.bin", np.int64, "w+", shape=(size,))
        self.rew = np.memmap(folder / "rew.bin", np.float32, "w+", shape=(size,))
        self.done = np.zeros(size, bool)
        self.priority = np.ones(size)
        self.filled = 0

    def add(self, rng, count):
        for _ in range(count):
            i = self.filled % self.size
            self.obs[i] = rng.integers(0, 256, self.obs.shape[1:])
            self.act[i], self.rew[i], self.done[i] = (
                rng.integers(18),
                rng.normal(),
                rng.random() < 0.02,
            )
            self.filled += 1

    def __len__(self):
        return min(self.filled, self.size) - self.n_step - self.stack

    def __getitem__(self, i):
        i = i + self.stack
        total, discount, j = 0.0, 1.0, i
        for j in range(i, i + self.n_step):
            total += discount * self.rew[j]
            discount *= self.gamma
            if self.done[j]:
                break
        state, after = (
            np.stack([self.obs[k - d] for d in range(self.stack)][::-1]) for k in (i, j + 1)
        )
        pad = np.random.randint(0, 9, 2)
        padded = np.pad(state, ((0, 0), (4, 4), (4, 4)), mode="edge")
        state = padded[:, pad[0] : pad[0] + 42, pad[1] : pad[1] + 42]
        return (
            state,
            self.act[i],
            np.float32(total),
            after,
            np.float32(discount * (1 - self.done[j])),
            self.priority[i],
        )


if __name__ == "__main__":
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(27)
    rng = np.random.default_rng(5)
    recorder = Recorder()
    with tempfile.TemporaryDirectory() as folder:
        buffer = ReplayBuffer(Path(folder), 1500)
        buffer.add(rng, 600)
        for _ in range(args.epochs):
            loader = DataLoader(
                buffer,
                args.batch_size,
                sampler=RandomSampler(buffer, True, 1280),
                num_workers=args.workers,
            )
            for *_transition, priority in recorder.epoch(loader):
                assert len(priority) == args.batch_size
            buffer.add(rng, 400)
            buffer.priority *= rng.uniform(0.5, 1.5, len(buffer.priority))
    recorder.finish()
