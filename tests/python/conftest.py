"""Fixtures of the Python tests: small data sets, and the seam put in place for one test."""

import os
import pickle
import signal
from collections.abc import Iterator
from pathlib import Path

import headrace
import numpy as np
import pytest
from headrace.service import report, service
from headrace.stage import leaves
from support.leaf_worker import LeafWorker
from support.photos import write_jpegs, write_mnist


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
        kept_too = ("HEADRACE_BINARY", "HEADRACE_UPDATE_DOCS")
        if not name.startswith("HEADRACE_TEST_") and name not in kept_too:
            del os.environ[name]
    os.environ["HEADRACE_LOCAL_WORKER"] = "off"  # tests of a coordinator count its workers
    os.environ["XDG_CACHE_HOME"] = str(tmp_path_factory.mktemp("cache"))
    yield
    service.close()
    os.environ.clear()
    os.environ.update(kept)


@pytest.fixture
def no_service() -> Iterator[None]:
    """The process begins without a service, with the settings that the test makes."""
    service.close()
    yield
    service.close()


@pytest.fixture(autouse=True)
def _nothing_said() -> None:
    """Each line is said once a program, and each test is one."""
    report._said.clear()


@pytest.fixture
def seam() -> Iterator[None]:
    headrace.install()
    yield
    headrace.uninstall()


@pytest.fixture
def worker() -> Iterator[LeafWorker]:
    """The shelf of leaves for lanes within the test's process. Afterwards the process is no lane."""
    yield LeafWorker()
    leaves.here = None


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
    return write_mnist(tmp_path_factory.mktemp("mnist"))


@pytest.fixture
def two_workers(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A service of this test's own."""
    service.close()
    monkeypatch.setenv("HEADRACE_WORKERS", "2")
    yield
    service.close()
