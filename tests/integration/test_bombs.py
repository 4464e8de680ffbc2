"""Files of a few bytes that claim to be enormous pictures: the stock loader's error at their batch, and
a data worker that takes neither the memory nor the time that they claim."""

import json
import pathlib
import struct
import subprocess
import sys
import zlib

import pytest
from support.extent import some
from support.headrace_program import HEADRACE, clean_environment
from support.photos import write_jpegs

PROGRAM = """
import json, pathlib, re, sys, warnings
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms

warnings.simplefilter("ignore")
sys.path.insert(0, sys.argv[2])
from support.processes import descendants
data = datasets.ImageFolder(
    sys.argv[1], transforms.Compose([transforms.RandomResizedCrop(32), transforms.ToTensor()])
)
torch.manual_seed(5)
batches = iter(DataLoader(data, num_workers=2))
seen = []
while True:
    try:
        seen.append(next(batches)[0].sum().item())
    except StopIteration:
        break
    except Exception as error:
        seen.append([type(error).__name__, str(error).splitlines()[-1]])
peaks = []
import os
for pid, line in descendants(os.getpid()).items():
    if "headrace worker" in line:
        status = pathlib.Path(f"/proc/{pid}/status").read_text()
        peaks.append(int(re.search(r"VmHWM:\\s+(\\d+)", status)[1]))
print(json.dumps([seen, peaks]))
"""


def png(width: int, height: int) -> bytes:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return (
            struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))
        )

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    parts = chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(bytes(64))) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + parts


def jpeg(width: int, height: int, photo: bytes) -> bytes:
    """A whole JPEG whose frame claims another size."""
    at = next(
        photo.find(bytes([0xFF, kind])) for kind in (0xC0, 0xC2) if bytes([0xFF, kind]) in photo
    )
    return photo[: at + 5] + struct.pack(">HH", height, width) + photo[at + 9 :]


SIZES = {
    "beyond PIL's limit": (60_000, 60_000),
    "where PIL warns": (12_000, 12_000),
    "below it": (9_000, 9_000),
}
MOST_KB = 200_000  # the worker alone has about 30 MB; the least of these pictures takes 243


def run(words: list[str], photos: pathlib.Path) -> tuple[list, list[int]]:
    tests = str(pathlib.Path(__file__).resolve().parents[1])
    done = subprocess.run(
        [*words, sys.executable, "-c", PROGRAM, str(photos), tests],
        capture_output=True,
        text=True,
        timeout=120,
        env=clean_environment(),
    )
    assert done.returncode == 0, done.stderr
    seen, peaks = json.loads(done.stdout.splitlines()[-1])
    return seen, peaks


@pytest.mark.parametrize("size", some(SIZES.values(), [SIZES["where PIL warns"]]), ids=list(SIZES))
def test_what_they_claim_is_not_taken(size, tmp_path):
    photos = write_jpegs(tmp_path / "photos", classes=2, count=4)
    photo = (photos / "class0" / "000.jpg").read_bytes()
    (photos / "class0" / "bomb.jpg").write_bytes(jpeg(*size, photo))
    (photos / "class1" / "bomb.png").write_bytes(png(*size))
    expected, _ = run([], photos)
    assert sum(isinstance(one, list) for one in expected) >= 1, "PIL refuses one of them"
    seen, peaks = run([HEADRACE, "run", "--workers", "1"], photos)
    assert seen == expected
    assert peaks, "a data worker has served it"
    assert max(peaks) < MOST_KB
