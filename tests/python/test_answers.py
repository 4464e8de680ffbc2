"""What answers of workers elsewhere may do in the trainer: make values, and nothing else."""

import array
import builtins
import collections
import copyreg
import datetime
import decimal
import functools
import io
import operator
import os
import pathlib
import pickle
import subprocess
import uuid
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from headrace import _client
from headrace.admission.difference import difference
from headrace.errors import WorkersUnavailable
from headrace.service import answers
from headrace.stage import pickling
from headrace.stage.pickling import Slot, pickle_batch, pickle_value
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as of_numpy
from support.pipelines import Numbers
from torch._utils import ExceptionWrapper

_ALLOWED = {tuple(text.split(" ", 2)) for text in answers.allowed()}


def uses_of(pickled, buffers=0):
    return _client.pickle_names(pickled, buffers)


def read(value):
    """What the trainer gets of a batch that a worker elsewhere made. Fails where it may not."""
    with memory() as arena:
        pickled, offsets, sizes = pickle_batch(value, Slot(arena, 0, 1 << 22))
        buffers = [arena.memory[o : o + s] for o, s in zip(offsets, sizes, strict=True)]
        uses = uses_of(pickled, len(buffers))
        assert uses <= _ALLOWED
        return answers.value_of(batch_of(pickled, uses, buffers), buffers)


class memory:
    def __enter__(self):
        fd = os.memfd_create("slot")
        os.ftruncate(fd, 1 << 22)
        self.arena = pickling.Arena(fd)
        return self.arena

    def __exit__(self, *_):
        pass


def batch_of(pickled, uses, buffers=()):
    names = [use[1:] for use in uses]
    return SimpleNamespace(pickle=pickled, names=names, buffers=buffers, worker=3, python_error=b"")


# What a pickle of this may do. Each would leave a mark.
class Reduced:
    def __init__(self, *parts):
        self.parts = parts

    def __reduce__(self):
        return self.parts


class Stateful:
    def __setstate__(self, state):
        os.mkdir(state)


_MARK = "mark"
HOSTILE = {
    "os.system": Reduced(os.system, (f"mkdir {_MARK}",)),
    "os.mkdir": Reduced(os.mkdir, (_MARK,)),
    "eval": Reduced(eval, (f"__import__('os').mkdir('{_MARK}')",)),
    "exec": Reduced(exec, (f"import os; os.mkdir('{_MARK}')",)),
    "getattr": Reduced(getattr, ("a", "upper")),
    "setattr": Reduced(setattr, (np.ndarray, "x", 1)),
    "__import__": Reduced(__import__, ("antigravity",)),
    "map": Reduced(list, (Reduced(map, (os.mkdir, [_MARK])),)),
    "range": Reduced(list, (Reduced(range, (1 << 40,)),)),
    "bytearray": Reduced(bytearray, (1 << 40,)),
    "type": Reduced(type, ("A", (), {})),
    "Popen": Reduced(subprocess.Popen, (["mkdir", _MARK],)),
    "attrgetter": Reduced(operator.attrgetter, ("mkdir",)),
    "methodcaller": Reduced(operator.methodcaller, ("mkdir", _MARK)),
    "partial": Reduced(functools.partial, (os.mkdir, _MARK)),
    "reduce": Reduced(functools.reduce, (os.mkdir, [_MARK])),
    "numpy.load": Reduced(np.load, ("file", None, True)),
    "numpy.fromfile": Reduced(np.fromfile, ("/etc/passwd",)),
    "numpy's array": Reduced(np._core.multiarray._reconstruct, (np.ndarray, (0,), b"b")),
    "numpy's dtype": Reduced(np.dtype, ("O",)),
    "torch.load": Reduced(torch.load, (io.BytesIO(b""),)),
    "a storage by torch": Reduced(torch.storage._load_from_bytes, (b"",)),
    "torch.hub": Reduced(torch.hub.load, ("a", "b")),
    "a module's function": Reduced(pathlib.Path.mkdir, (pathlib.PosixPath(_MARK),)),
    "an open file": Reduced(open, (_MARK, "w")),
    "codecs": Reduced(__import__("codecs").decode, (b"x", "zlib")),
    "pickle": Reduced(pickle.loads, (pickle.dumps(Reduced(os.mkdir, (_MARK,))),)),
    "any class by torch": Reduced(
        torch._tensor._rebuild_from_type_v2, (bytes, bytes, (1 << 40,), None)
    ),
    "hooks of a tensor": Reduced(
        torch._utils._rebuild_parameter, (torch.zeros(1), True, {0: bytes})
    ),
    "headrace's by_name": Reduced(pickling.by_name, ("os", "mkdir")),
    "what by_name found": Reduced(Reduced(pickling.by_name, ("os", "mkdir")), (_MARK,)),
    "sys.modules": Reduced(__import__, ("sys",)),
}


class HostilePickler(pickle._Pickler):
    """Pickles what it is told, also a call of what a call has made."""

    def save_reduce(self, func, args, *rest, **named):
        if isinstance(func, Reduced):
            self.save(func)
            self.save(args)
            self.write(pickle.REDUCE)
            return
        super().save_reduce(func, args, *rest, **named)


def hostile(value):
    file = io.BytesIO()
    HostilePickler(file, 5).dump(value)
    return file.getvalue()


@pytest.mark.parametrize("name", HOSTILE)
def test_what_does_more_than_make_values_is_refused_by_its_names_and_run_by_nobody(
    name, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    try:
        pickled = hostile([HOSTILE[name]])
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        pytest.fail(f"the test's own pickler: {error}")
    try:
        uses = uses_of(pickled)
    except _client.HeadraceError:
        uses = None
    assert uses is None or uses - _ALLOWED
    # Whoever reads it by the names that are allowed is refused, too.
    allowed = {use for use in uses or () if use in _ALLOWED}
    with pytest.raises(WorkersUnavailable, match="is no name of this answer"):
        answers.value_of(batch_of(pickled, allowed), [])
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["os.mkdir", "eval", "partial", "what by_name found"])
def test_closed_modules_are_not_learned_from_the_jobs_own_answers(name):
    modules = {use[1].partition(".")[0] for use in uses_of_any(hostile(HOSTILE[name]))}
    assert any(module in answers.CLOSED for module in modules)


def uses_of_any(pickled):
    try:
        return uses_of(pickled)
    except _client.HeadraceError:
        return {("c", "os", "")}


def test_the_state_of_a_class_of_the_program_is_given_only_where_this_host_gave_one():
    made = Stateful()
    made.x = 1
    uses = uses_of(pickle.dumps(made, 5))
    assert {kind for kind, _, name in uses if name == "Stateful"} == {"v", "n", "b"}
    assert not uses & _ALLOWED


def test_a_name_of_the_extension_registry_is_refused():
    copyreg.add_extension("posix", "mkdir", 0x77)
    try:
        pickled = hostile(Reduced(os.mkdir, (_MARK,)))
    finally:
        copyreg.remove_extension("posix", "mkdir", 0x77)
    with pytest.raises(_client.HeadraceError):
        uses_of(pickled)


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4])
def test_older_protocols_are_refused(protocol):
    with pytest.raises(_client.HeadraceError, match="protocol 5"):
        uses_of(pickle.dumps([1], protocol))


class Persistent(pickle.Pickler):
    def persistent_id(self, value):
        return "id" if value == 7 else None


def test_persistent_ids_are_refused():
    file = io.BytesIO()
    Persistent(file, 5).dump([7])
    with pytest.raises(_client.HeadraceError):
        uses_of(file.getvalue())


# What is allowed.


def test_an_error_of_python_comes_with_its_type():
    try:
        raise KeyError("seven")
    except KeyError:
        error = pickle_value(ExceptionWrapper(where="in DataLoader worker process 0"))
    uses = uses_of(error)
    assert uses <= _ALLOWED
    batch = SimpleNamespace(python_error=error, names=[use[1:] for use in uses], worker=3)
    with pytest.raises(KeyError, match="seven"):
        answers.error_of(batch).reraise()


def test_a_class_of_the_program_comes_by_its_name():
    kinds = [(kind, name) for kind, _, name in uses_of(pickle_value([Numbers(3), Numbers]))]
    assert sorted(kinds) == [("b", "Numbers"), ("n", "Numbers"), ("v", "Numbers")]


def has_titles(dtype):
    """Such a dtype is read by nobody."""
    if dtype.subdtype is not None:
        return has_titles(dtype.subdtype[0])
    fields = [dtype.fields[name] for name in dtype.names or ()]
    return any(len(field) > 2 or has_titles(field[0]) for field in fields)


def arrays():
    numbers = [
        of_numpy.integer_dtypes,
        of_numpy.floating_dtypes,
        of_numpy.complex_number_dtypes,
        of_numpy.datetime64_dtypes,
        of_numpy.timedelta64_dtypes,
        of_numpy.unicode_string_dtypes,
    ]
    kinds = st.one_of(
        of_numpy.boolean_dtypes(),
        of_numpy.byte_string_dtypes(),
        of_numpy.nested_dtypes(max_itemsize=64).filter(lambda dtype: not has_titles(dtype)),
        *(kind(endianness="=") for kind in numbers),
    )
    shapes = of_numpy.array_shapes(min_dims=0, min_side=0, max_side=9)
    return of_numpy.arrays(kinds, shapes).flatmap(
        lambda a: st.sampled_from([a, a.T, a[::-1] if a.ndim else a, np.asfortranarray(a)])
    )


def tensors():
    numbers = of_numpy.arrays(
        st.sampled_from(["f4", "f8", "i8", "u1", "?", "c8"]),
        of_numpy.array_shapes(min_dims=0, min_side=0, max_side=9),
    )
    return numbers.map(lambda a: torch.from_numpy(np.ascontiguousarray(a).reshape(a.shape)))


def leaves():
    return st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False),
        st.complex_numbers(allow_nan=False),
        st.text(max_size=8),
        st.binary(max_size=700),
        st.binary(max_size=9).map(bytearray),
        st.datetimes(),
        st.dates(),
        st.timedeltas(),
        st.decimals(allow_nan=False),
        st.uuids(),
        st.sampled_from(
            [
                torch.float32,
                torch.strided,
                torch.device("cpu"),
                Ellipsis,
                slice(1, 2),
                int,
                ValueError("x"),
            ]
        ),
        st.just(pathlib.PurePosixPath("a/b")),
        arrays(),
        arrays().filter(lambda a: a.size).map(lambda a: a.reshape(-1)[0]),
        tensors(),
        tensors().map(lambda t: t.t() if t.ndim == 2 else t),
        tensors().filter(torch.is_floating_point).map(torch.nn.Parameter),
    )


def batches():
    keys = st.one_of(st.text(max_size=4), st.integers(), st.tuples(st.integers()))
    return st.recursive(
        leaves(),
        lambda inner: st.one_of(
            st.lists(inner, max_size=4),
            st.lists(inner, max_size=4).map(tuple),
            st.dictionaries(keys, inner, max_size=4),
            st.dictionaries(keys, inner, max_size=4).map(collections.OrderedDict),
            st.dictionaries(keys, inner, max_size=4).map(
                lambda d: collections.defaultdict(list, d)
            ),
            st.lists(st.text(), max_size=3).map(lambda items: collections.deque(items, 5)),
            st.frozensets(st.integers(), max_size=4),
            st.sets(st.text(max_size=3), max_size=4),
            st.text(max_size=9).map(collections.Counter),
            st.dictionaries(st.sampled_from("ab"), st.text()).map(lambda d: SimpleNamespace(**d)),
            st.lists(st.text(), min_size=1, max_size=3).map(objects),
        ),
        max_leaves=12,
    )


def objects(items):
    made = np.empty(len(items), object)
    for place, item in enumerate(items):
        made[place] = item
    return made


@settings(max_examples=60, deadline=None)
@given(batches())
def test_plain_batches_are_read_as_they_were_made(batch):
    found = difference(batch, read(batch))
    assert found is None, (found.field, found.what)


def test_arrays_of_other_byte_orders_become_native_as_by_a_queue_of_torchs():
    made = np.arange(6, dtype=">i4").reshape(2, 3)
    for each in (made, made.T, made[:, ::2]):
        again = read(each)
        assert again.dtype == np.dtype("i4") and again.dtype.isnative
        assert np.array_equal(again, each)


def test_arrays_that_hold_themselves_are_read():
    made = np.empty((1, 2), object)
    made[0, 0], made[0, 1] = made, array_of(3)
    again = read([made])[0]
    assert again.shape == (1, 2) and again[0, 0] is again
    assert again[0, 1].tolist() == [0, 1, 2]


def array_of(count):
    return np.arange(count)


def test_numbers_of_the_standard_library_that_are_no_plain_values_stay_here():
    assert uses_of(pickle_value(array.array("i", [1]))) - _ALLOWED
    assert uses_of(pickle_value(range(3))) - _ALLOWED


def test_times_with_zones_are_read():
    moment = datetime.datetime(2020, 1, 2, tzinfo=datetime.timezone(datetime.timedelta(hours=1)))
    assert read([moment, decimal.Decimal("1.5"), uuid.UUID(int=7), torch.Size([1]), Ellipsis]) == [
        moment,
        decimal.Decimal("1.5"),
        uuid.UUID(int=7),
        torch.Size([1]),
        Ellipsis,
    ]
    assert all(isinstance(getattr(builtins, name, None), type) for name in ("KeyError", "OSError"))
