"""Fixtures of the Python tests: small data sets, and the seam put in place for one test."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import headrace
import numpy as np
import pytest
from headrace import service
from PIL import Image


def pytest_configure(config: pytest.Config) -> None:
    # Small machines: torch counts the workers that the stock loader starts.
    config.addinivalue_line("filterwarnings", "ignore:This DataLoader will create:UserWarning")
    # A shell's background job starts with Ctrl-C ignored, and so would every program of the tests.
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session", autouse=True)
def _private_settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """No setting of the person who runs the tests, and no trace in their home."""
    kept = dict(os.environ)
    for name in [name for name in os.environ if name.startswith("HEADRACE_")]:
        if not name.startswith("HEADRACE_TEST_") and name != "HEADRACE_BINARY":
            del os.environ[name]
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    service.close()
    os.environ.clear()
    os.environ.update(kept)


@pytest.fixture
def seam() -> Iterator[None]:
    headrace.install()
    yield
    headrace.uninstall()


def write_jpegs(root: Path, classes: int, count: int, seed: int = 0) -> Path:
    """A class-per-folder set of small JPEGs of many sizes, both layouts of chroma, some grey."""
    rng = np.random.default_rng(seed)
    for c in range(classes):
        folder = root / f"class{c}"
        folder.mkdir(parents=True)
        for i in range(count):
            height, width = (int(v) for v in rng.integers(40, 90, 2))
            coarse = rng.integers(0, 256, (6, 6, 3), dtype=np.uint8)
            image = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
            if i % 7 == 6:
                image = image.convert("L")
            image.save(folder / f"{i:03}.jpg", quality=90, subsampling=i % 3)
    return root


@pytest.fixture(scope="session")
def photos(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_jpegs(tmp_path_factory.mktemp("photos"), classes=3, count=9)


@pytest.fixture
def own_photos(tmp_path: Path) -> Path:
    """A set that the test may damage."""
    return write_jpegs(tmp_path / "photos", classes=2, count=8)


@pytest.fixture(scope="session")
def cifar_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files as torchvision's CIFAR10 reads them (without its checksums)."""
    root = tmp_path_factory.mktemp("cifar")
    folder = root / "cifar-10-batches-py"
    folder.mkdir()
    rng = np.random.default_rng(1)
    for name in [f"data_batch_{i}" for i in range(1, 6)] + ["test_batch"]:
        entry = {
            "data": rng.integers(0, 256, (10, 3072), dtype=np.uint8),
            "labels": rng.integers(0, 10, 10).tolist(),
        }
        (folder / name).write_bytes(pickle.dumps(entry))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": list("abcdefghij")}))
    return root


@pytest.fixture(scope="session")
def mnist_root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files as torchvision's MNIST reads them."""
    root = tmp_path_factory.mktemp("mnist")
    folder = root / "MNIST" / "raw"
    folder.mkdir(parents=True)
    rng = np.random.default_rng(2)
    for name, count in (("train", 30), ("t10k", 10)):
        images = rng.integers(0, 256, (count, 28, 28), dtype=np.uint8)
        labels = rng.integers(0, 10, count, dtype=np.uint8)
        head = np.array([0x803, count, 28, 28], ">i4").tobytes()
        (folder / f"{name}-images-idx3-ubyte").write_bytes(head + images.tobytes())
        head = np.array([0x801, count], ">i4").tobytes()
        (folder / f"{name}-labels-idx1-ubyte").write_bytes(head + labels.tobytes())
    return root


@contextlib.contextmanager
def program(
    source: str, *args: str, cwd: Path | None = None, env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen]:
    """A Python program of its own, which imports headrace from where this process does."""
    package = str(Path(headrace.__file__).parents[1])
    path = os.pathsep.join([package, os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    process = subprocess.Popen(
        [sys.executable, "-W", "error", "-c", source, *args],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**os.environ, "PYTHONPATH": path, **(env or {})},
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def run_program(source: str, *args: str, **named: object) -> subprocess.CompletedProcess:
    """The finished program: return code and what it printed."""
    with program(source, *args, **named) as process:
        out, err = process.communicate(timeout=120)
        return subprocess.CompletedProcess(process.args, process.returncode, out, err)
