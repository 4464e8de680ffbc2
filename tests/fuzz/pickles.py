"""Random pickles: what the client says that they do, against what Python's unpickler does.

python tests/fuzz/pickles.py [--count N] [--seed S]
python tests/fuzz/pickles.py --seeds FOLDER     some of them, as the first inputs of pickle_names_fuzz
"""

import argparse
import io
import pickle
import random
import struct
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

PICKLING, ARRAYS = "headrace.stage.pickling", "headrace.stage.arrays"
MODULES = ("m", "os", "builtins", "types", "torch._utils", "uuid", "torch", ARRAYS)
NAMES = ("n", "Z", "fill_objects", "system", "attr.inner")
KEYS = ("a", "append", "extend", "__setstate__", "__class__", "__notes__", "__reduce__", "add")

Use = tuple[str, str, str]
Program = list[bytes]


class Writer:
    """Writes programs of opcodes that are mostly what Python's pickler could write."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.kept = 0  # values in the memo

    def program(self) -> Program:
        return [b"\x80\x05", *self.value(self.rng.randrange(1, 6)), b"."]

    def value(self, depth: int) -> Program:
        makers: list[Callable[[int], Program]] = [self.plain, self.name, self.again]
        if depth > 0:
            makers += [self.sequence, self.entries, self.tuple_of, self.called, self.called]
            makers += [self.created, self.filled, self.set_of]
        ops = self.rng.choice(makers)(depth - 1)
        if self.rng.random() < 0.4:
            ops = [*ops, b"\x94"]
            self.kept += 1
        return ops

    def text(self, choices: Iterable[str]) -> bytes:
        text = self.rng.choice(tuple(choices)).encode()
        return b"\x8c" + bytes([len(text)]) + text

    def plain(self, _depth: int) -> Program:
        made = [
            b"N",
            b"\x88",
            b")",
            b"K\x07",
            b"J\1\0\0\0",
            b"C\1x",
            b"\x8a\1\5",
            b"\x97",
            b"\x97\x98",
        ]
        return [self.rng.choice([*made, self.text(KEYS), self.text(NAMES), self.text(MODULES)])]

    def again(self, _depth: int) -> Program:
        if self.kept == 0:
            return [b"N"]
        number = self.rng.randrange(min(self.kept + self.rng.randrange(2), 255))
        return (
            [b"h" + bytes([number])]
            if self.rng.random() < 0.8
            else [b"j" + struct.pack("<I", number)]
        )

    def values(self, depth: int, most: int) -> Program:
        return [op for _ in range(self.rng.randrange(most)) for op in self.value(depth)]

    def sequence(self, depth: int) -> Program:
        return [b"]", *self.items(depth)]

    def items(self, depth: int) -> Program:
        if self.rng.random() < 0.5:
            return [*self.value(depth), b"a"]
        return [b"(", *self.values(depth, 4), b"e"]

    def entries(self, depth: int) -> Program:
        return [b"}", *self.pairs(depth)]

    def pairs(self, depth: int) -> Program:
        def key() -> Program:
            return [self.text(KEYS)] if self.rng.random() < 0.8 else self.value(depth)

        if self.rng.random() < 0.5:
            return [*key(), *self.value(depth), b"s"]
        count = self.rng.randrange(3)
        return [b"(", *[op for _ in range(count) for op in [*key(), *self.value(depth)]], b"u"]

    def set_of(self, depth: int) -> Program:
        if self.rng.random() < 0.5:
            return [b"(", *self.values(depth, 4), b"\x91"]
        return [b"\x8f", b"(", *self.values(depth, 4), b"\x90"]

    def tuple_of(self, depth: int) -> Program:
        count = self.rng.randrange(4)
        if count == 3:
            return [b"(", *self.values(depth, 5), b"t"]
        parts = [op for _ in range(count + 1) for op in self.value(depth)]
        return [*parts, (b"\x85", b"\x86", b"\x87")[count]]

    def name(self, _depth: int) -> Program:
        if self.rng.random() < 0.2:
            which = self.rng.choice(["by_name", "exception_by_name"])
            found = [self.text([PICKLING]), self.text([which]), b"\x93"]
            return [*found, self.text(MODULES), self.text(NAMES), b"\x86", b"R"]
        return [self.text(MODULES), self.text(NAMES), b"\x93"]

    def arguments(self, depth: int) -> Program:
        return [b")"] if self.rng.random() < 0.4 else self.tuple_of(depth)

    def called(self, depth: int) -> Program:
        callable_ = self.name(0) if self.rng.random() < 0.9 else self.value(depth)
        return [*callable_, *self.arguments(depth), b"R", *self.after(depth)]

    def created(self, depth: int) -> Program:
        if self.rng.random() < 0.7:
            return [*self.name(0), *self.arguments(depth), b"\x81", *self.after(depth)]
        named = [b"}", *self.pairs(depth)] if self.rng.random() < 0.3 else [b"}"]
        return [*self.name(0), *self.arguments(depth), *named, b"\x92", *self.after(depth)]

    def filled(self, depth: int) -> Program:
        fill = [self.text([ARRAYS]), self.text(["fill_objects"]), b"\x93"]
        return [*fill, *self.sequence(depth), *self.sequence(depth), b"\x86", b"R"]

    def after(self, depth: int) -> Program:
        """What an object gets once it is made."""
        ops: Program = []
        while self.rng.random() < 0.35:
            ops += self.rng.choice([self.items, self.pairs, self.state])(depth)
        return ops

    def state(self, depth: int) -> Program:
        choice = self.rng.random()
        if choice < 0.6:
            return [*self.entries(depth), b"b"]
        if choice < 0.8:
            return [*self.entries(depth), *self.entries(depth), b"\x86", b"b"]
        return [*self.value(depth), b"b"]


ODD = [b"0", b"1", b"2", b"(", b"R", b"b", b"\x81", b"\x93", b"e", b"u", b"a", b"s", b"t", b"\x90", b"o",
       b"cm\nn\n", b"im\nn\n", b"q\0", b"h\0", b"\x82\1", b"Q", b"P1\n", b"\x95\0\0\0\0\0\0\0\0", b"\x94",
       b"]", b"}", b")", b"\x86", b"."]  # fmt: skip


def changed(program: Program, rng: random.Random) -> bytes:
    """The program, in half of the cases with a few changes of opcodes or bytes."""
    ops = list(program)
    if rng.random() < 0.5:
        for _ in range(rng.randrange(1, 4)):
            at = rng.randrange(1, len(ops))
            choice = rng.randrange(4)
            if choice == 0:
                ops.insert(at, rng.choice(ODD))
            elif choice == 1:
                ops.insert(at, rng.choice(ops))
            elif choice == 2 and len(ops) > 2:
                del ops[at]
            else:
                other = rng.randrange(1, len(ops))
                ops[at - 1], ops[other] = ops[other], ops[at - 1]
    made = bytearray(b"".join(ops))
    if rng.random() < 0.1:
        made[rng.randrange(len(made))] = rng.randrange(256)
    return bytes(made)


class Recorded(type):
    """The classes of an unpickler that makes nothing real. What is done with them is written down."""

    def __call__(cls, *_args: Any, **_named: Any) -> Any:
        cls.seen("c")  # type: ignore[attr-defined]
        return object.__new__(cls)

    def __setattr__(cls, name: str, _value: Any) -> None:
        cls.seen("a class was changed")  # type: ignore[attr-defined]

    def __setitem__(cls, *_: Any) -> None:
        cls.seen("items of a class")  # type: ignore[attr-defined]

    def append(cls, *_: Any) -> None:
        cls.seen("items of a class")  # type: ignore[attr-defined]

    extend = add = append


def recorder(uses: set[Use], module: str, name: str) -> Any:
    def seen(kind: str) -> None:
        uses.add((kind, module, name))

    def noted(kind: str) -> Callable[..., None]:
        # Of a class and not of an object of it, too: both write down the same.
        return lambda *_args, **_named: seen(kind)

    def new(cls: Any, *_args: Any, **_named: Any) -> Any:
        seen("n")
        return object.__new__(cls)

    space = {
        "seen": staticmethod(seen),
        "__new__": new,
        "__setitem__": noted("s"),
        "__call__": noted("an object was called"),
        "add": noted("an element was added"),
        "append": noted("a"),
        "extend": noted("a"),
    }
    if name != "Z":  # its states go to its attributes
        space["__setstate__"] = noted("b")
    return Recorded(name.replace(".", "_"), (), space)


class Oracle(pickle.Unpickler):
    def __init__(self, pickled: bytes, buffers: int) -> None:
        super().__init__(io.BytesIO(pickled), buffers=[b"x"] * buffers)
        self.uses: set[Use] = set()

    def find_class(self, module: str, name: str) -> Any:
        if module == PICKLING and name in ("by_name", "exception_by_name"):
            return self._find
        return self._find(module, name)

    def _find(self, module: Any, name: Any, *rest: Any) -> Any:
        if rest or type(module) is not str or type(name) is not str:
            self.uses.add(("a computed name", str(module), str(name)))
            raise pickle.UnpicklingError
        self.uses.add(("v", module, name))
        return recorder(self.uses, module, name)

    def persistent_load(self, pid: Any) -> Any:
        self.uses.add(("a persistent id", "", str(pid)))


class Wrong(Exception):
    pass


def check(pickled: bytes, buffers: int, names: Callable[[bytes, int], set[Use]]) -> bool:
    """Whether the client takes the pickle. Wrong: it does what the client did not say."""
    try:
        said = names(pickled, buffers)
    except Exception:
        return False
    oracle = Oracle(pickled, buffers)
    try:
        oracle.load()
    except Exception:  # what was done by then counts
        pass
    if not oracle.uses <= said:
        raise Wrong(
            f"{sorted(oracle.uses - said)} of {pickled!r} were not said; said: {sorted(said)}"
        )
    return True


def run(seed: int, count: int, names: Callable[[bytes, int], set[Use]]) -> int:
    """Tries random pickles, and returns how many the client took."""
    rng = random.Random(seed)
    taken = 0
    for _ in range(count):
        pickled = changed(Writer(rng).program(), rng)
        taken += check(pickled, rng.randrange(3), names)
    return taken


def write_seeds(folder: Path, count: int = 200) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(1)
    for number in range(count):
        pickled = changed(Writer(rng).program(), rng)
        (folder / str(number)).write_bytes(bytes([number % 4]) + pickled)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=random.randrange(2**32))
    parser.add_argument("--seeds", type=Path, metavar="FOLDER")
    args = parser.parse_args()
    if args.seeds:
        write_seeds(args.seeds)
        return
    from headrace import _client

    print(f"seed {args.seed}", file=sys.stderr)
    taken = run(args.seed, args.count, _client.pickle_names)
    print(f"{args.count} pickles; the client took {taken}")


if __name__ == "__main__":
    main()
