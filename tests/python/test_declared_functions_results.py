"""Declared functions whose results are no plain values, or cost too little or too much."""

import gc
import os
import weakref

import headrace
import numpy as np
import pytest
import torch
from headrace.declared import cached_functions
from headrace.stage import cached_calls, call_board
from headrace.stage.kept_entry import Entry
from headrace.stage.kept_results import Packed
from PIL import Image
from support.declared_functions import Declared, burn


def test_exceptions_are_raised_each_time(worker):
    def failing(x):
        burn("failing")
        raise ValueError(f"no {x}")

    served = Declared(worker, failing)
    for _ in range(3):
        worker.lane()
        with pytest.raises(ValueError, match="no 1"):
            failing(1)
    assert served.runs("failing") == 3 and worker.entries == 0


def test_a_result_that_becomes_an_exception_ends_it(worker, capfd, monkeypatch):
    def sometimes(x):
        burn("sometimes")
        if os.getenv("HEADRACE_TEST_FAILS"):
            raise ValueError("now")
        return x

    served = Declared(worker, sometimes)
    served.epochs(1, lambda: sometimes(1))
    worker.lane()
    monkeypatch.setenv("HEADRACE_TEST_FAILS", "1")
    with pytest.raises(ValueError, match="now"):
        sometimes(1)
    assert served.is_over and "raised ValueError" in capfd.readouterr().err


def test_generators_are_not_kept(worker):
    def produced(n):
        burn("produced")
        yield from range(n)

    def returned(n):
        burn("returned")
        return (i for i in range(n))

    for code in (produced, returned):
        served = Declared(worker, code)
        assert [list(one) for one in served.epochs(3, lambda code=code: code(3))] == [[0, 1, 2]] * 3
        assert worker.entries == 0 and served.why


def test_weak_references_and_finalisers(worker):
    ended = []

    def watched(x):
        burn("watched")
        made = np.full(100, x)
        weakref.finalize(made, ended.append, x)
        return made

    served = Declared(worker, watched)
    served.epochs(3, lambda: watched(1)[0])
    gc.collect()
    assert len(ended) == 3 and worker.entries == 0


def test_what_somebody_watches_is_not_packed():
    value = np.zeros(3)
    watch = weakref.ref(value)
    with pytest.raises(cached_calls.NotPacked, match="told of its end"):
        cached_calls.Packed(value)
    assert watch() is value


ARRAYS_OF_BYTES = (
    lambda: np.asarray(Image.frombytes("RGB", (5, 4), bytes(range(60)))),
    lambda: np.asarray(Image.frombytes("RGB", (5, 4), bytes(range(60))).convert("L")),
    lambda: np.ndarray((4, 5), "<f4", bytes(range(80))),
    lambda: np.frombuffer(bytes(range(80)), ">i2"),
)


def test_arrays_of_bytes_are_such_arrays_again():
    """np.asarray of a picture: read-only, with a bytes object as its memory."""
    for make in ARRAYS_OF_BYTES:
        value = make()
        packed = cached_calls.Packed(value)
        made = Entry(memoryview(b"".join(map(bytes, packed.parts(b""))))).value()
        assert type(made) is np.ndarray and type(made.base) is bytes and made.base == value.base
        for name in ("dtype", "shape", "strides"):
            assert getattr(made, name) == getattr(value, name)
        assert str(made.flags) == str(value.flags) and made.tobytes() == value.tobytes()


def test_other_arrays_of_bytes_are_not_kept():
    content = bytes(range(80))
    whole = np.frombuffer(content, np.uint8)
    others = [
        np.ndarray((40,), np.uint8, content),
        np.ndarray((79,), np.uint8, content, 1),
        np.ndarray((8, 10), np.uint8, content, order="F"),
        np.ndarray((40,), np.uint8, content, 0, (2,)),
        np.ndarray((80,), np.dtype("u1", metadata={"a": 1}), content),
        np.ndarray((10,), "S8", content),
        np.ndarray((1, 80), np.uint8, content, 0, (7, 1)),
        [whole, np.frombuffer(content, np.uint8)],
    ]
    for value in others:
        with pytest.raises(cached_calls.NotPacked):
            cached_calls.Packed(value)
    del others, whole
    for kind in (">f8", "u1"):  # also where all else is right
        value = np.ndarray((80 // np.dtype(kind).itemsize,), kind, content)
        with pytest.raises(cached_calls.NotPacked, match="somebody else holds it"):
            cached_calls.Packed(value)
    layouts = [
        ((40,), "u1", 0, None), ((79,), "u1", 1, None), ((8, 10), "u1", 0, (1, 8)), ((40,), "u1", 0, (2,)),
        ((1, 80), "u1", 0, (7, 1)), ((10,), "S8", 0, None),
        ((80,), np.dtype("u1", metadata={"a": 1}), 0, None),
    ]  # fmt: skip
    for shape, kind, offset, strides in layouts:
        value = np.ndarray(shape, kind, bytes(bytearray(content)), offset, strides)
        with pytest.raises(cached_calls.NotPacked, match="somebody else's memory"):
            cached_calls.Packed(value)


def test_subclasses_are_not_kept(worker):
    class Special(np.ndarray):
        pass

    class MyList(list):
        pass

    for make in (
        lambda: np.zeros(9).view(Special),
        MyList,
        lambda: np.ma.zeros(3),
        lambda: np.zeros(3, object),
    ):

        def special(make=make):
            burn("special")
            return make()

        served = Declared(worker, special)
        made = served.epochs(2, special)
        assert type(made[0]) is type(made[1]) is type(make()) and worker.entries == 0 and served.why


def test_recursion_and_calls_within_calls(worker):
    def fact(n):
        burn("fact", 0.001)
        return 1 if n <= 1 else n * fact(n - 1)

    served = Declared(worker, fact)
    assert served.twice(lambda: fact(8)) == (40320, 40320)
    assert served.runs("fact") == 8


def test_a_result_that_is_too_large_is_made_again(worker):
    worker.room = 1 << 20

    def large():
        burn("large")
        return np.zeros(1 << 20)

    served = Declared(worker, large)
    assert [one.nbytes for one in served.epochs(3, large)] == [8 << 20] * 3
    assert served.runs("large") == 3 and worker.entries == 0


def test_what_costs_less_than_keeping_is_looked_at_now_and_then(worker):
    def cheap(x):
        import sys

        sys.audit("headrace.test.run", "cheap")
        return x

    served = Declared(worker, cheap)
    worker.lane()
    looked = []
    real = served.call._content
    served.call._content = lambda *args: looked.append(1) or real(*args)
    for number in range(8 + 16 * 5):
        assert cheap(number) == number
    assert 8 + 4 <= len(looked) <= 8 + 6 and worker.entries == 0


def test_one_epoch_keeps_nothing(worker):
    def made(x):
        burn("one epoch")
        return [x]

    served = Declared(worker, made)
    worker.lane(keeps=False)
    made(1)
    worker.lane(keeps=False)
    assert made(1) == [1] and served.runs("one epoch") == 2 and worker.entries == 0


def test_a_function_that_lost_its_mark_is_declared_no_more():
    def table(n):
        return n

    headrace.cached(table)
    assert table in cached_functions()
    vars(table).clear()
    assert table not in cached_functions()
    told = call_board.told()  # of all others; it goes into the report
    assert table.__qualname__ not in [each["name"] for each in told]


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.tensor(1.5),
        lambda: torch.zeros(0, 3),
        lambda: torch.full((2, 1, 3), -0.0, dtype=torch.float64),
        lambda: torch.ones(5, dtype=torch.bfloat16),
        lambda: torch.ones(3, dtype=torch.complex64),
        lambda: torch.tensor([True, False]),
        lambda: torch.empty((1, 2, 3, 4), memory_format=torch.channels_last).fill_(2),
        lambda: torch.empty_strided((3, 1), (1, 7)).fill_(3),
        lambda: torch.empty_strided((2, 2), (4, 1)).fill_(4),  # with gaps
        lambda: torch.ones(4).resize_(3),  # with memory beside its elements
        lambda: torch.ones(4).set_(torch.ones(4).untyped_storage(), 1, (3,), (1,)),
    ],
)
def test_tensors_come_back_with_the_same_memory(make):
    packed = Packed(make())
    entry = Entry(memoryview(b"".join(map(bytes, packed.parts(([], 1.0))))))
    with torch.no_grad():
        seen = []
        for one in (make(), entry.value()):
            storage = one.untyped_storage()
            about = one.dtype, one.shape, one.stride(), one.storage_offset(), one._is_view()
            more = storage.nbytes(), storage.resizable(), one.requires_grad, one.is_inference()
            seen.append((about, more, one.contiguous().view(-1).view(torch.uint8).tolist()))
    assert seen[0] == seen[1]
    with torch.device("meta"):  # as a program's set_default_device
        elsewhere = entry.value()
    assert elsewhere.device.type == "cpu" and torch.equal(elsewhere, make())
