"""A trainer with a pool on another host, which shares nothing with it but files: the same lines as stock.

`both hosts` lends the trainer's own processors to its job, as `headrace run` does by default; `other
host` makes all that may be made elsewhere there.
"""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.both_cases import CASES, Case, Runs, cases, parameters
from support.two_hosts import other_host, pool

BOTH, OTHER = "both hosts", "other host"
CONTENT = "content"
THEMES = sorted(file.stem for file in CASES.glob("*.py") if file.stem != CONTENT)


@pytest.fixture(scope="module")
def host() -> Iterator[str]:
    with other_host() as name:
        yield name


@pytest.fixture(scope="module")
def pooled(runs: Runs, host: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Runs]:
    with pool(host, tmp_path_factory.mktemp("run") / "private") as address:
        _served_by(runs, address)
        yield runs


def _served_by(runs: Runs, address: str) -> None:
    runs.ways[BOTH] = ["--coordinator", address]
    runs.ways[OTHER] = ["--coordinator", address, "--remote-only"]
    runs.environment = {"HEADRACE_LOCAL_WORKER": "on"}


@pytest.mark.parametrize("case", parameters(cases(THEMES, [BOTH, OTHER], hosts=2)))
def test_same_lines_as_stock(case: Case, pooled: Runs):
    pooled.check(case)


@pytest.mark.parametrize("case", parameters(cases([CONTENT], [BOTH, OTHER], hosts=2)))
def test_other_content_under_the_same_path_is_not_used(
    case: Case, host: str, photos: Path, tmp_path: Path
):
    """The other host sees files of the same names, sizes and times, with other pixels."""
    theirs = Path(shutil.copytree(photos, tmp_path / "theirs"))
    for file in theirs.rglob("*.jpg"):
        _other_pixels(file)
    with pool(host, tmp_path / "private", {photos: theirs}) as address:
        runs = Runs(tmp_path / "cases", photos, [case])
        _served_by(runs, address)
        runs.check(case, "has not the trainer's file")  # said once (docs/adr/0026-content.md)


def _other_pixels(file: Path) -> None:
    """Coarser steps of quantisation: each pixel changes, the size of the file does not."""
    times, content = file.stat(), bytearray(file.read_bytes())
    table = content.index(b"\xff\xdb") + 5
    content[table] = min(255, content[table] * 3 + 1)
    file.write_bytes(content)
    os.utime(file, ns=(times.st_atime_ns, times.st_mtime_ns))
