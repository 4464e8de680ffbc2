"""Data classes that are made at their first instance (headrace/records.py)."""

import dataclasses
import os
import pickle
import signal
import subprocess
import sys
import threading

import pytest
from headrace import records


def classes():
    @records.dataclass(frozen=True)
    class Base:
        first: int
        names: list = dataclasses.field(default_factory=list)

    @records.dataclass(frozen=True)
    class Derived(Base):
        second: str = "b"

        @property
        def both(self):
            return self.first, self.second

    return Base, Derived


def is_made(cls):
    return "__dataclass_fields__" in vars(cls)


def test_no_text_is_made_of_a_signature(monkeypatch):
    """It takes a fifth of the time, and nobody reads it."""
    monkeypatch.setattr(dataclasses.inspect, "signature", lambda *_: pytest.fail("it is made"))
    base, _ = classes()
    assert base(1).__doc__ == "Base"

    @records.dataclass
    class WithText:
        """Its own."""

    assert WithText().__doc__ == "Its own."


def test_a_fork_waits_for_a_class_that_a_thread_is_at(monkeypatch):
    base, _ = classes()
    entered, forks = threading.Event(), threading.Event()
    real = dataclasses.dataclass

    def slow(**options):
        def make(cls):
            entered.set()
            forks.wait(60)
            return real(**options)(cls)

        return make

    monkeypatch.setattr(dataclasses, "dataclass", slow)
    thread = threading.Thread(target=base, args=(1,))
    thread.start()
    assert entered.wait(60)
    monkeypatch.undo()
    forks.set()
    pid = os.fork()
    if pid == 0:
        signal.alarm(30)  # ends it where it waits
        os._exit(0 if is_made(base) and base(1).first == 1 else 1)
    thread.join()
    assert os.waitpid(pid, 0)[1] == 0


def test_a_class_is_made_at_its_first_instance():
    base, derived = classes()
    assert not is_made(base) and not is_made(derived)
    assert base(1) == base(1)
    assert is_made(base) and not is_made(derived)


def test_what_it_is_derived_from_is_made_before_it():
    base, derived = classes()
    one = derived(1, second="c")
    assert is_made(base)
    assert [field.name for field in dataclasses.fields(one)] == ["first", "names", "second"]
    assert one.both == (1, "c") and one.names == []
    assert dataclasses.replace(one, first=2) == derived(2, [], "c")
    assert repr(one).endswith("Derived(first=1, names=[], second='c')")
    assert one != derived(1) and isinstance(one, base)
    with pytest.raises(dataclasses.FrozenInstanceError):
        one.first = 3


def test_a_class_below_it_that_is_none_makes_it():
    base, _ = classes()

    class Below(base):
        def __init__(self, number):
            super().__init__(number + 1)

    assert Below(1).first == 2 and is_made(base)


def test_options_are_those_of_the_standard_librarys():
    @records.dataclass(order=True)
    class Ordered:
        number: int

    @records.dataclass(eq=False)
    class Single:
        number: int

    @records.dataclass(frozen=True, slots=True)
    class Slots:
        number: int

    assert Ordered(1) < Ordered(2)
    assert Single(1) != Single(1) and len({Single(1), Single(1)}) == 2
    assert not hasattr(Slots(1), "__dict__") and Slots(1) == Slots(1)
    with pytest.raises(TypeError, match="number"):
        Ordered()


def test_an_instance_that_is_unpickled_first_is_one():
    """Unpickling calls no __init__."""
    from headrace.serve.blame import Measured

    code = (
        "import dataclasses, pickle, sys\n"
        "value = pickle.loads(sys.stdin.buffer.read())\n"
        "assert value == dataclasses.replace(value), value\n"
    )
    sent = pickle.dumps(Measured(3, 7))
    subprocess.run([sys.executable, "-c", code], input=sent, check=True, timeout=60)


def test_threads_that_come_at_once_have_whole_instances():
    for _ in range(200):
        base, derived = classes()
        gate, wrong = threading.Barrier(4), []

        def make(cls=derived, gate=gate, wrong=wrong):
            gate.wait()
            try:
                assert cls(1).second == "b"
            except Exception as error:
                wrong.append(error)

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert wrong == []
