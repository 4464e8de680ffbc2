"""Contract: what user code prints on workers reaches the program's terminal, once."""

import os
import re
import signal

import pytest
import torch
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Talks(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        print(f"row {index}")
        print("its second", "line", sep="\n", end="")
        return torch.rand(50_000)  # beyond the first slots


class Streams(IterableDataset):
    def __iter__(self):
        return (Talks()[3] for _ in range(4))


class Counts(Talks):
    count = 0

    def __getitem__(self, index):
        self.count += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("cls", [Talks, Counts])
def test_lines_come_once(cls, seam, capfd):
    capfd.readouterr()
    assert len(list(DataLoader(cls(), batch_size=3, num_workers=2))) == 4
    out = capfd.readouterr().out
    for i in range(12):
        assert len(re.findall(rf"row {i}\n", out)) == 1
    assert out.count("its second\nline") == 12


def test_lines_of_a_stream(seam, capfd):
    assert len(list(DataLoader(Streams(), batch_size=2, num_workers=1))) == 2
    assert capfd.readouterr().out.count("row 3") == 4


class Dies(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        print("about to touch", index)
        os.kill(os.getpid(), signal.SIGSEGV)


def test_death_of_a_process_is_torchs_own_error(seam):
    with pytest.raises(
        RuntimeError, match=r"worker \(pid.*(Segmentation fault|exited unexpectedly)"
    ):
        next(iter(DataLoader(Dies(), num_workers=1)))
