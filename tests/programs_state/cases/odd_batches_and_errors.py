"""Batches of seldom kinds, and errors that are hard to send."""

import array
import asyncio
import builtins
import collections
import enum
import functools
import json
import re
import subprocess
import time
import typing
import warnings
from dataclasses import dataclass, field

import numpy as np
import torch
from bits import drain, epochs, say, show
from cases import Look, case, looked, main
from PIL import Image
from torch import nn
from torch.utils.data import DataLoader, get_worker_info


def collated(collate, look=lambda i: torch.ones(3) * i, count=1, **named):
    def whole(items):
        return collate([item for _, item in items])

    for workers in (0, 2):
        named = {"num_workers": workers, **named}
        epochs(DataLoader(Look(look), 2, collate_fn=whole, **named), count)


class Colour(enum.IntFlag):
    RED = 1
    BLUE = 2


@dataclass(frozen=True, slots=True)
class Inner:
    x: torch.Tensor
    name: str | None = None


@dataclass(kw_only=True)
class Outer:
    parts: list[Inner]
    colour: Colour
    extra: dict = field(default_factory=dict)


@case(workers=2, hosts=2, always=True)
def dataclasses_in_dataclasses():
    def collate(items):
        parts = [Inner(item, None if k else "first") for k, item in enumerate(items)]
        return Outer(
            parts=parts, colour=Colour.RED | Colour.BLUE, extra={"none": None, "all": items}
        )

    collated(collate)


class Scores(typing.NamedTuple):
    x: torch.Tensor
    note: str = "none"

    def total(self):
        return self.x.sum()


@case()
def named_tuples_of_every_level():
    def look(i):
        return Scores(torch.rand(2), f"note {i}"), {"s": Scores(torch.ones(1) * i)}

    looked(look, 2)
    looked(look, 1, batch_size=None)


@case(workers=2, hosts=2)
def sparse_tensors():
    def look(i):
        dense = torch.zeros(4, 4)
        dense[i % 4, 1] = i + 1.0
        return dense.to_sparse(), dense.to_sparse_csr()

    collated(list, look)
    looked(lambda i: look(i)[0], batch_size=2)


@case()
def nested_tensors():
    collated(lambda items: torch.nested.nested_tensor(items), lambda i: torch.ones(i + 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        collated(
            lambda items: torch.nested.nested_tensor(items, layout=torch.jagged),
            lambda i: torch.ones(i + 1, 2),
        )


@case()
def quantised_tensors():
    def look(i):
        return torch.quantize_per_tensor(torch.arange(4.0) + i, 0.1, 2, torch.quint8)

    collated(lambda items: [(item.int_repr(), item.q_scale()) for item in items], look)


@case(workers=2, hosts=2)
def lazily_conjugated_and_negated():
    def look(i):
        x = torch.tensor([1 + 2j, i + 1j])
        return x.conj(), x.conj().imag, x

    collated(list, look)
    looked(look)


@case()
def expanded_and_strided_views():
    def look(i):
        x = torch.arange(12.0).reshape(3, 4) + i
        return x.t(), x[:, ::2], x[0].expand(5, 4), x.as_strided((2, 2), (1, 1)), x[1, 2], x.flip(0)

    collated(list, look)
    looked(look)


@case()
def tensors_with_names():
    warnings.simplefilter("ignore")

    def names(items):
        return [item.rename("a") for item in items]

    def tell(loader):
        try:
            for batch in loader:
                show([(item.names, item.rename(None)) for item in batch])
        except Exception as error:
            say(f"{type(error).__name__}: {str(error).splitlines()[-1]}")

    for workers in (0, 1):
        data = Look(lambda i: i)
        collate = functools.partial(lambda _: names([torch.ones(2)]))
        tell(DataLoader(data, 4, num_workers=workers, collate_fn=collate))


@case()
def meta_tensors():
    collated(list, lambda i: torch.empty(3, i + 1, device="meta"))


@case(workers=2, hosts=2)
def arrays_of_seldom_kinds():
    def look(i):
        fields = np.array([(i, 1.5)], dtype=[("a", "<i4"), ("b", "<f8")])
        return [
            fields,
            fields.view(np.recarray),
            np.ma.masked_equal([i, 1, 2], 1),
            np.array(["2024-01-01"], "datetime64[D]") + i,
            np.array([f"text {i}", "b"]),
            np.array([None, {"a": i}], object),
            np.asfortranarray(np.ones((2, 3)) * i),
            np.ones((3, 3))[::-1, ::2] * i,
            np.float128(i) / 3,
            np.zeros((0, 4), np.int8),
        ]

    collated(list, look)


@case()
def arrays_that_may_not_be_written():
    def look(i):
        x = np.arange(6) + i
        x.flags.writeable = False
        return x

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        looked(look)
        looked(look, batch_size=None)


@case()
def things_of_python():
    def look(i):
        return [
            array.array("d", [i, 2]),
            collections.deque([i], maxlen=3),
            collections.ChainMap({"a": i}, {"b": 1}),
            re.compile(f"a{i}"),
            functools.partial(int, "7", base=8),
            Ellipsis,
            NotImplemented,
            len,
            Colour,
            ValueError("as a value", i),
            {i: {(1, 2): frozenset("ab")}},
            float("nan"),
            "\ud800 and \0",
            memoryview,
        ]

    collated(list, look)


@case()
def modules_as_batches():
    def look(i):
        layer = nn.Linear(2, 1)
        nn.init.constant_(layer.weight, float(i))
        nn.init.zeros_(layer.bias)
        return layer

    collated(lambda items: [item.state_dict() for item in items], look)
    collated(lambda items: [item.weight for item in items], look)


@case()
def pictures_as_batches():
    def look(i):
        one = Image.new("P", (8, 6), i)
        one.putpalette(range(30))
        one.info["note"] = f"note {i}"
        return (
            one,
            Image.new("I;16", (2, 2), i),
            Image.new("RGBA", (3, 3), (i, 1, 2, 3)),
            one.getpalette(),
        )

    collated(lambda items: [[*item, item[0].info, item[0].getpalette()] for item in items], look)


@case()
def long_texts_and_bytes():
    collated(list, lambda i: (f"{i}" * 3_000_000, bytes(2_000_000 + i), bytearray(5), 1 << 5000))


@case()
def batches_that_are_nothing():
    collated(lambda items: None)
    collated(lambda items: [])
    collated(lambda items: {})
    collated(lambda items: torch.empty(0))
    collated(lambda items: False)


@case(workers=2)
def batches_over_32_mebibytes_in_parts():
    def collate(items):
        whole = torch.arange(12_000_000, dtype=torch.float32)
        return {"whole": whole, "half": whole[6_000_000:], "own": torch.ones(3), "other": items}

    looked(lambda i: i, batch_size=8, collate_fn=lambda items: collate([i for i, _ in items]))


@case()
def sizes_that_grow():
    looked(lambda i: torch.full((2 ** (3 * i),), float(i)), batch_size=1, num_workers=2)


class Quiet(BaseException):
    pass


class Picky(Exception):
    def __init__(self, message, *, code):
        super().__init__(message)
        self.code = code


class Mute(Exception):
    def __str__(self):
        raise TypeError("no text")


def _failing(error):
    def look(i):
        if i == 3:
            raise error()
        return torch.rand(1)

    return look


def _after(look, **named):
    iterator = iter(DataLoader(Look(look), 1, **{"num_workers": 1, **named}))
    drain(iterator, 12)


@case()
def errors_beside_exceptions():
    """They end a worker: of what it has made before, torch itself may lose some."""

    def first(error):
        def look(i):
            raise error()

        for workers in (0, 1):
            try:
                show(next(iter(DataLoader(Look(look), 1, num_workers=workers))))
            except BaseException as raised:
                say(type(raised).__name__)

    for error in (Quiet, asyncio.CancelledError, GeneratorExit):
        first(error)


@case(hosts=2)
def errors_that_cannot_be_made_again():
    _after(_failing(lambda: Picky("picky", code=3)))
    _after(_failing(lambda: json.JSONDecodeError("bad", "text", 2)))
    _after(_failing(lambda: UnicodeDecodeError("utf-8", b"\xff", 0, 1, "bad byte")))
    _after(_failing(lambda: subprocess.CalledProcessError(3, ["false"])))
    _after(_failing(lambda: FileNotFoundError(2, "missing", "name.jpg")))
    _after(_failing(lambda: KeyError("a\nb")))


@case()
def errors_with_more():
    def noted():
        error = ValueError("noted")
        error.add_note("a note")
        return error

    _after(_failing(noted))
    _after(_failing(lambda: builtins.ExceptionGroup("several", [ValueError(1), TypeError(2)])))
    _after(_failing(StopAsyncIteration))
    _after(_failing(lambda: ValueError()))
    _after(_failing(lambda: ValueError("%s {} \n\n tail\n")))


@case()
def error_of_too_deep_a_recursion():
    def deep(n):
        return deep(n + 1)

    def look(i):
        try:
            return deep(0) if i == 2 else i
        except RecursionError:
            return -1

    looked(look, batch_size=1)


@case()
def batch_that_comes_too_late():
    def look(i):
        time.sleep(6 if i == 2 else 0)
        return i

    try:
        for batch in DataLoader(Look(look), 1, num_workers=1, timeout=2):
            show(batch)
    except RuntimeError as error:
        say(str(error))


@case(workers=2, hosts=2)
def errors_of_one_worker_alone():
    def look(i):
        if get_worker_info().id == 1 and i % 4 == 3:
            raise LookupError(f"index {i}")
        return torch.rand(1)

    iterator = iter(DataLoader(Look(look), 1, num_workers=2, prefetch_factor=1))
    drain(iterator, 12)


@case()
def warnings_of_samples_counted():
    def look(i):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            torch.from_numpy(np.frombuffer(b"1234", np.uint8))
            warnings.warn("own", stacklevel=1)
        return len(seen)

    looked(look, 2)


if __name__ == "__main__":
    main()
