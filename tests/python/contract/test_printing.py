"""Contract: what user code prints on workers reaches the program's terminal, once and marked."""

import os
import re
import signal
import warnings

import pytest
import torch
from headrace.errors import WorkersUnavailable
from torch.utils.data import DataLoader, Dataset, IterableDataset


class Talks(Dataset):
    def __len__(self):
        return 12

    def __getitem__(self, index):
        print(f"row {index}")
        print("its second", "line", sep="\n", end="")
        if index % 4 == 0:
            warnings.warn(f"careful with {index}", stacklevel=1)
        return torch.rand(50_000)  # beyond the first slots


class Streams(IterableDataset):
    def __iter__(self):
        return (Talks()[3] for _ in range(4))


class Counts(Talks):
    count = 0

    def __getitem__(self, index):
        self.count += 1
        return super().__getitem__(index)


MARK = r"\[headrace worker \d+\] "


@pytest.mark.parametrize("cls", [Talks, Counts])
def test_lines_come_once_with_their_batch(cls, seam, capfd):
    capfd.readouterr()
    for number, _ in enumerate(DataLoader(cls(), batch_size=3, num_workers=2)):
        out, err = capfd.readouterr()
        rows = range(3 * number, 3 * number + 3)
        lines = "".join(f"{MARK}row {i}\n{MARK}its second\n{MARK}line" for i in rows)
        lines = lines.replace(f"line{MARK}", "line")  # that began in the line before
        assert re.fullmatch(lines, out), out
        said = [line for line in err.splitlines() if "careful" in line and "UserWarning" in line]
        careful = [i for i in rows if i % 4 == 0]
        for i, line in zip(careful, said, strict=True):
            assert re.fullmatch(f"{MARK}.*careful with {i}", line)


def test_lines_of_a_stream(seam, capfd):
    assert len(list(DataLoader(Streams(), batch_size=2, num_workers=1))) == 2
    assert capfd.readouterr().out.count("row 3") == 4


class Dies(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, index):
        print("about to touch", index)
        os.kill(os.getpid(), signal.SIGSEGV)


def test_last_words_of_a_process_that_dies(seam):
    with pytest.raises(WorkersUnavailable, match="(?s)Segmentation fault.*about to touch 0"):
        next(iter(DataLoader(Dies(), num_workers=1)))
