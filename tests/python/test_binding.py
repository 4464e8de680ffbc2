"""headrace._client: memory, errors and threads of the binding itself."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from headrace import _client
from headrace.service import options

ROWS, BATCH = 96, 8


def plan(values: np.ndarray) -> dict[str, Any]:
    array = {"blob": _client.Blob(values), "dtype": "float32", "row_shape": list(values.shape[1:])}
    return {
        "name": "rows",
        "leaves": [{"source": "arrays", "rows": len(values), "arrays": [array]}],
        "fields": [{"kind": "array", "index": 0}],
        "lanes": 2,
    }


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    made = _client.Client(binary=options.find_binary(), workers=1, threads=1)
    yield made
    made.close()


@pytest.fixture
def values() -> np.ndarray:
    return np.random.default_rng(0).random((ROWS, 1000), dtype=np.float32)


def run(session: Any, batches: list[list[int]]) -> Iterator[Any]:
    session.begin(base_seed=0)
    waiting = iter(batches)
    left = len(batches)
    while left:
        while session.outstanding < session.max_outstanding:
            keys = next(waiting, None)
            if keys is None:
                break
            session.submit(keys)
        batch = session.next(30.0)
        assert isinstance(batch, _client.Batch)
        left -= 1
        yield batch


def batches_of(count: int) -> list[list[int]]:
    return [[(i * BATCH + j) % ROWS for j in range(BATCH)] for i in range(count)]


def test_tensor_is_the_slot_and_writable(client: Any, values: np.ndarray) -> None:
    session = client.open_session(plan(values), max_outstanding=2)
    (batch,) = run(session, batches_of(1))
    tensor = torch.from_dlpack(batch.fields[0])
    assert tensor.data_ptr() % 64 == 0 and tensor.is_contiguous()
    assert torch.equal(tensor, torch.from_numpy(values[:BATCH]))
    tensor[0, 0] = 7
    assert tensor[0, 0] == 7
    with pytest.raises(RuntimeError):  # a capsule makes one tensor
        torch.from_dlpack(batch.fields[0])


def test_slot_is_free_when_its_last_tensor_dies_on_any_thread(
    client: Any, values: np.ndarray
) -> None:
    session = client.open_session(plan(values), max_outstanding=2)
    for batch in run(session, batches_of(40)):
        held = [torch.from_dlpack(batch.fields[0])]
        del batch
        thread = threading.Thread(target=held.clear)
        thread.start()
        thread.join()
    assert session.stats()["arena_slots"] <= 6


def test_kept_tensors_never_change(client: Any, values: np.ndarray) -> None:
    session = client.open_session(plan(values), max_outstanding=2)
    kept = []
    for number, batch in enumerate(run(session, batches_of(20))):
        assert batch.copy_advised == (number >= 3)
        kept.append(torch.from_dlpack(batch.fields[0]))
    session.close()
    gc.collect()
    for keys, tensor in zip(batches_of(20), kept, strict=True):
        assert torch.equal(tensor, torch.from_numpy(values[keys]))


def test_keys_as_list_and_as_array(client: Any, values: np.ndarray) -> None:
    session = client.open_session(plan(values), max_outstanding=4)
    session.begin(base_seed=0)
    for keys in ([3, 1], (3, 1), np.array([3, 1]), [np.int64(3), np.int32(1)]):
        session.submit(keys)
    for _ in range(4):
        assert torch.equal(
            torch.from_dlpack(session.next(30.0).fields[0]), torch.from_numpy(values[[3, 1]])
        )
    with pytest.raises(_client.InvalidArgumentError, match="int64"):
        session.submit(np.array([3, 1], dtype=np.int32))
    with pytest.raises(TypeError):
        session.submit(["3"])


def test_keys_that_are_no_rows_are_not_submitted(client: Any, values: np.ndarray) -> None:
    session = client.open_session(plan(values), max_outstanding=1)
    session.begin(base_seed=0)
    for keys in ([0, ROWS], [-1], ["0"], [None, 1], [1 << 70], [0.0]):
        assert session.submit(keys, ROWS) == -1
    assert session.outstanding == 0
    assert session.submit([0, np.int64(ROWS - 1), True], ROWS) == 0


def test_more_than_the_window_is_refused(client: Any, values: np.ndarray) -> None:
    session = client.open_session(plan(values), max_outstanding=1)
    with pytest.raises(ValueError, match="no iteration"):
        session.submit([0])
    session.begin(base_seed=0)
    session.submit([0])
    with pytest.raises(ValueError, match="outstanding"):
        session.submit([1])


def test_key_outside_of_the_data_is_a_missing_sample(client: Any, values: np.ndarray) -> None:
    session = client.open_session(plan(values), max_outstanding=1)
    (batch,) = run(session, [[0, ROWS, 1]])
    assert [(m.position, m.key, m.code) for m in batch.missing] == [(1, ROWS, "NotFound")]
    assert torch.equal(torch.from_dlpack(batch.fields[0])[[0, 2]], torch.from_numpy(values[[0, 1]]))


def test_blob_is_not_copied_and_kept_alive(client: Any) -> None:
    source = np.arange(1000, dtype=np.float32).reshape(10, 100)
    blob = _client.Blob(source)
    assert np.frombuffer(blob, dtype=np.float32).ctypes.data == source.ctypes.data
    assert blob.hash == _client.Blob(source.tobytes()).hash
    references = sys.getrefcount(source)
    described = plan(source)
    session = client.open_session(described, max_outstanding=1)
    del described
    assert sys.getrefcount(source) > references
    session.close()
    deadline = time.monotonic() + 10
    while sys.getrefcount(source) > references and time.monotonic() < deadline:
        _client.Blob(b"")  # the next call releases the buffers of other threads
    assert sys.getrefcount(source) == references


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"colour": 1}, "not known"),
        ({"rng": "dice"}, "rng is dice"),
        ({"lanes": 0}, "no lanes"),
        ({"fields": []}, "no fields"),
        ({"row_map": b"12345678"}, "Blob"),
        ({"row_map": _client.Blob(b"123")}, "int64"),
    ],
)
def test_plan_that_makes_no_sense_is_a_value_error(
    client: Any, values: np.ndarray, change: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        client.open_session({**plan(values), **change}, max_outstanding=1)


def test_errors_are_builtin_types_too() -> None:
    assert issubclass(_client.NotFoundError, FileNotFoundError)
    assert issubclass(_client.ResourceExhaustedError, MemoryError)
    assert _client.UnavailableError.code == "Unavailable"
    with pytest.raises(ConnectionError, match="tcp://127.0.0.1:9"):
        _client.Client(coordinator="tcp://127.0.0.1:9", connect_timeout=0.2)


def test_no_memory_names_the_remedy(client: Any, values: np.ndarray) -> None:
    session = client.open_session(plan(values), max_outstanding=1, max_arena_bytes=1 << 20)
    session.begin(base_seed=0)
    session.submit([0] * 1000)  # 4 MB
    with pytest.raises(MemoryError, match="max_arena_bytes"):
        session.next(30.0)


def test_closed_session_and_client_say_so(values: np.ndarray) -> None:
    own = _client.Client(binary=options.find_binary())
    session = own.open_session(plan(values), max_outstanding=1)
    session.begin(base_seed=0)
    own.close()
    with pytest.raises(_client.UnavailableError, match="closed"):
        session.next(1.0)
    session.close()
    with pytest.raises(_client.UnavailableError, match="closed"):
        session.submit([0])


def test_ctrl_c_ends_the_wait(client: Any, values: np.ndarray) -> None:
    session = client.open_session(plan(values), max_outstanding=1)
    session.begin(base_seed=0)
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        session.next(60.0)  # nothing was submitted
    timer.join()
    session.submit([0])
    assert session.next(30.0) is not None


EXIT = """
import numpy as np, torch
from headrace import _client
from headrace.service import options
values = np.ones((8, 4), dtype=np.float32)
array = {"blob": _client.Blob(values), "dtype": "float32", "row_shape": [4]}
client = _client.Client(binary=options.find_binary())
session = client.open_session(
    {"leaves": [{"source": "arrays", "rows": 8, "arrays": [array]}],
     "fields": [{"kind": "array", "index": 0}]}, max_outstanding=4)
session.begin(base_seed=0)
for _ in range(4):
    session.submit([0, 1])
kept = torch.from_dlpack(session.next(30.0).fields[0])
class Holder:
    tensor = kept
Holder.itself = Holder
print(client.coordinator_endpoint)
"""


def test_interpreter_ends_cleanly_with_everything_open() -> None:
    done = subprocess.run(
        [sys.executable, "-c", EXIT], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    folder = Path(done.stdout.strip().removeprefix("ipc://")).parent
    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        os.sched_yield()
    assert not folder.exists()
