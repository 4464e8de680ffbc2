"""Pictures are decoded ahead in truth: by a worker of its own, for one lane, with the stock loader's batches."""

import json
import os
import subprocess
import sys

import pytest
from support.headrace_program import HEADRACE, clean_environment
from support.photos import encode_photo

FILES, SEED = 96, 20261130

# Prints a hash of each epoch's batches, and how many seconds of decoding the lane was saved.
_PROGRAM = """
import json, os, random, sys, zlib
import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset

class Own(Dataset):
    def __init__(self, folder, reader):
        self.folder, self.reader = folder, reader
        self.names = sorted(os.listdir(folder))

    def __len__(self):
        return len(self.names)

    def __getitem__(self, index):
        path = os.path.join(self.folder, self.names[index])
        try:
            pixels = self.read(path)
        except OSError as error:
            pixels = np.frombuffer(str(error).encode()[:64].ljust(64), np.uint8)
        part = torch.zeros(64 * 64 * 3, dtype=torch.uint8)
        flat = torch.from_numpy(pixels.reshape(-1)[: 64 * 64 * 3].copy())
        part[: len(flat)] = flat
        draws = random.randrange(256) + zlib.crc32(pixels.tobytes())
        ahead = sys.modules.get("headrace.stage.ahead_pictures")
        return part, draws, ahead.saved() if ahead else 0.0

    def read(self, path):
        if self.reader == "opencv":
            import cv2
            made = cv2.imread(path)
            if made is None:
                raise OSError("no picture")
            return made
        from PIL import Image
        with Image.open(path) as opened:
            return np.array(opened.convert("RGB"))

if __name__ == "__main__":
    if sys.argv[2] == "opencv":
        import cv2
    else:
        from PIL import Image
    torch.manual_seed(0)
    random.seed(0)
    loader = DataLoader(Own(*sys.argv[1:3]), 16, shuffle=True, num_workers=int(sys.argv[3]))
    seen, saved = [], []
    for epoch in range(2):
        seen.append(0)
        saved.append(0.0)
        for parts, draws, seconds in loader:
            seen[-1] = zlib.crc32(parts.numpy().tobytes() + draws.numpy().tobytes(), seen[-1])
            saved[-1] = max(saved[-1], float(seconds.max()))
    print(json.dumps([seen, saved]))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Photographs that take some milliseconds each; some are cut, grey, or none at all."""
    made = tmp_path_factory.mktemp("photos")
    kinds = [
        encode_photo(700 + 16 * at, 900, SEED + at, gray=at == 3, quality=98) for at in range(8)
    ]
    for at in range(FILES):
        file = kinds[at % 8]
        if at % 24 == 13:
            file = file[: len(file) // 2]
        elif at % 24 == 14:
            file = b"no picture"
        (made / f"{at:04}.jpg").write_bytes(file)
    return made


def run(folder, tmp_path, reader, lanes, served):
    program = tmp_path / "program.py"
    program.write_text(_PROGRAM)
    command = [sys.executable, str(program), str(folder), reader, str(lanes)]
    environment = clean_environment()
    if served:
        command = [str(HEADRACE), "run", "--workers", "1", "--cache", "0", *command]
    else:
        environment["HEADRACE"] = "off"
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "other bits" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("reader", ["pil", "opencv"])
def test_one_lane_has_its_pictures_decoded_beside_it(folder, tmp_path, reader):
    if reader == "opencv":
        pytest.importorskip("cv2")
    stock, _ = run(folder, tmp_path, reader, 1, served=False)
    ours, saved = run(folder, tmp_path, reader, 1, served=True)
    assert ours == stock
    if not all(saved):
        pytest.skip("no core of this host idled meanwhile")


def test_as_many_lanes_as_cores_decode_by_themselves(folder, tmp_path):
    lanes = len(os.sched_getaffinity(0))
    if lanes > 4:
        pytest.skip("it would take many lanes")
    stock, _ = run(folder, tmp_path, "pil", lanes, served=False)
    ours, saved = run(folder, tmp_path, "pil", lanes, served=True)
    assert ours == stock and saved == [0.0, 0.0]
