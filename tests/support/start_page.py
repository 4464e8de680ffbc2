"""The program and the commands of docs/start.md, as they stand there."""

import json
import re
from pathlib import Path

import numpy
from PIL import Image

PAGE = Path(__file__).resolve().parents[2] / "docs" / "start.md"
PICTURES = 16


def write_program(folder: Path) -> None:
    """With its pictures."""
    (program,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (folder / "train.py").write_text(program)
    draws = numpy.random.default_rng(7)
    for number in range(PICTURES):
        place = folder / "photos" / f"class{number % 2}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = draws.integers(0, 256, (150, 170, 3), dtype=numpy.uint8)
        Image.fromarray(pixels).save(place / f"{number}.jpg", quality=90)


def commands(ports: dict[str, str]) -> str:
    """All of them, one after the other. `ports`: what stands for the page's own."""
    parts = re.findall(r"```bash\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(parts) == 4
    script = "set -e; trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"
    script += "".join(f"echo '# {n}'\n{part}" for n, part in enumerate(parts, 1))
    assert script.count("7070") == 3 and script.count("9470") == 1
    for port, other in ports.items():
        script = script.replace(port, other)
    return script


def check(folder: Path, stdout: str, stderr: str) -> None:
    """What they do, and what they printed."""
    said = stdout + stderr
    first, what, cached, pool = re.split(r"^# \d\n", stdout, flags=re.MULTILINE)[1:]
    sums = re.findall(r"^sum .*$", stdout, re.MULTILINE)
    assert len(re.findall(r"^sum ", first, re.MULTILINE)) == 2
    assert len(sums) >= 5 and len(set(sums)) == 1, said
    assert "native" in what, said
    assert "headrace: not used in this program" not in said, said
    (loader,) = json.loads((folder / "cached.json").read_text())["loaders"]
    assert loader["cache_hits"]["decoded"] >= 2 * PICTURES - 8, loader["cache_hits"]
    assert f"is cached: {PICTURES} of {PICTURES} samples" in stderr, said
    assert "ImageFolder" in pool and "ready" in pool, said
