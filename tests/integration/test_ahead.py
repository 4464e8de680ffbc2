"""Files are read ahead of the code, from a source that is slow in truth: several at once where the code reads one
after the other, and with the stock loader's batches."""

import json
import subprocess
import sys

import numpy as np
import pytest
from PIL import Image
from support.headrace_program import HEADRACE, clean_environment
from support.slow_files import slow_files

FILES, SEED, DELAY = 96, 20261130, 0.02

# Prints hashes of the epochs' batches. Between epochs the kernel forgets the files.
_PROGRAM = """
import json, os, pathlib, random, sys, zlib
import numpy as np
import torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

class Own(Dataset):
    def __init__(self, folder, kind):
        self.folder, self.kind = str(folder), kind
        names = sorted(os.listdir(folder))
        # Without a rule that anybody finds: the name comes from a function of the number.
        self.names = names if kind == "listed" else None
        self.count = len(names)

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        name = self.names[index] if self.names else f"{(index * 37 + 5) % self.count:04}.png"
        picture = np.array(Image.open(os.path.join(self.folder, name)).convert("RGB"))
        return torch.from_numpy(picture + random.randrange(3)), index

if __name__ == "__main__":
    folder, kind, epochs, lanes = pathlib.Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    torch.manual_seed(0)
    random.seed(0)
    loader = DataLoader(Own(folder, kind), 16, shuffle=True, num_workers=lanes)
    seen = []
    for epoch in range(epochs):
        seen.append(0)
        for pictures, index in loader:
            seen[-1] = zlib.crc32(pictures.numpy().tobytes() + index.numpy().tobytes(), seen[-1])
        for path in folder.iterdir():
            file = os.open(path, os.O_RDONLY)
            os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
            os.close(file)
    print(json.dumps(seen))
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory):
    folder = tmp_path_factory.mktemp("files")
    drawn = np.random.default_rng(SEED)
    for at in range(FILES):
        Image.fromarray(drawn.integers(0, 256, (48, 64, 3), np.uint8)).save(folder / f"{at:04}.png")
    return folder


def run(source, tmp_path, kind, epochs, lanes=1, served=True):
    """What the program prints, and the most files that were read at once."""
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    command = [sys.executable, str(program)]
    environment = clean_environment()
    if served:
        command = [str(HEADRACE), "run", "--workers", "1", *command]
    else:
        environment["HEADRACE"] = "off"
    try:
        mounted = slow_files(source, tmp_path / "slow", DELAY)
        with mounted as files:
            command += [str(files.where), kind, str(epochs), str(lanes)]
            done = subprocess.run(
                command, env=environment, capture_output=True, text=True, timeout=120, check=False
            )
            assert done.returncode == 0, done.stderr
            return json.loads(done.stdout.splitlines()[-1]), files.most_at_once
    except OSError as error:
        pytest.skip(f"nobody may mount a FUSE file system here: {error}")


def test_a_single_lane_has_several_files_read_at_once(source, tmp_path):
    stock, one = run(source, tmp_path, "listed", 1, served=False)
    ours, several = run(source, tmp_path, "listed", 1)
    assert ours == stock
    assert one == 1 and several >= 4


def test_what_no_rule_foretells_is_remembered_for_the_next_epoch(source, tmp_path):
    stock, one = run(source, tmp_path, "computed", 2, served=False)
    ours, several = run(source, tmp_path, "computed", 2)
    assert ours == stock
    assert one == 1 and several >= 4
