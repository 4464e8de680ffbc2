"""docs/start.md: its program and its commands, as they stand there."""

import json
import os
import pathlib
import re
import subprocess
import sys

import numpy
from PIL import Image
from support.headrace_program import HEADRACE, clean_environment, free_port

PAGE = pathlib.Path(__file__).resolve().parents[2] / "docs" / "start.md"
PICTURES = 16


def test_the_tutorial_does_what_it_says(tmp_path):
    page = PAGE.read_text()
    (program,) = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    parts = re.findall(r"```bash\n(.*?)```", page, re.DOTALL)
    assert len(parts) == 4
    (tmp_path / "train.py").write_text(program)
    draws = numpy.random.default_rng(7)
    for number in range(PICTURES):
        place = tmp_path / "photos" / f"class{number % 2}"
        place.mkdir(parents=True, exist_ok=True)
        pixels = draws.integers(0, 256, (150, 170, 3), dtype=numpy.uint8)
        Image.fromarray(pixels).save(place / f"{number}.jpg", quality=90)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "headrace").symlink_to(HEADRACE)
    (programs / "python").write_text(f'#!/bin/sh\nexec {sys.executable} "$@"\n')
    (programs / "python").chmod(0o755)
    script = "set -e; trap 'kill $(jobs -p) 2> /dev/null || true' EXIT\n"
    script += "".join(f"echo '# {n}'\n{part}" for n, part in enumerate(parts, 1))
    assert script.count("7070") == 3 and script.count("9470") == 1
    script = script.replace("7070", str(free_port())).replace("9470", str(free_port()))
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=tmp_path,
        env=clean_environment(HOME=str(tmp_path), PATH=f"{programs}:{os.environ['PATH']}"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=200,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    first, what, cached, pool = re.split(r"^# \d\n", done.stdout, flags=re.MULTILINE)[1:]
    sums = re.findall(r"^sum .*$", done.stdout, re.MULTILINE)
    assert len(re.findall(r"^sum ", first, re.MULTILINE)) == 2
    assert len(sums) >= 5 and len(set(sums)) == 1, said
    assert "native" in what, said
    (loader,) = json.loads((tmp_path / "cached.json").read_text())["loaders"]
    assert loader["cache_hits"]["decoded"] >= 2 * PICTURES - 8, loader["cache_hits"]
    assert f"is cached: {PICTURES} of {PICTURES} samples" in done.stderr, said
    assert "ImageFolder" in pool and "ready" in pool, said
