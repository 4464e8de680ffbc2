"""Shuffles of rows and short sums in programs' lanes: NumPy's own bits, draws, warnings and errors
(stage/numpy_functions.py)."""

import contextlib
import functools
import pickle
import random
import warnings

import numpy as np
import torch
from numpy._core import fromnumeric
from support.own_process import in_own_process

SEED = 20261130
KINDS = ("float32", "float64", "bool") * 4 + (
    "float32",
    "float64",
    "float16",
    "int64",
    "uint8",
    "bool",
    "complex64",
    ">f4",
    "M8[s]",
)
REDUCTIONS = ("_wrapreduction", "_wrapreduction_any_all")
WAYS = ({"axis": -1}, {"axis": 1}) * 3 + (
    {"axis": 0},
    {},
    {"axis": 1, "keepdims": True},
    {"axis": -2},
)


def enable(checks=0):
    """As in a lane. With 0 checks only the native form makes what it can make."""
    from headrace.stage import functions

    real = np.random.shuffle, {name: getattr(fromnumeric, name) for name in REDUCTIONS}
    functions.CHECKS = checks
    functions._MOST_REFUSED = 1 << 30  # none of them rests
    functions.enable()
    return functions, real


@contextlib.contextmanager
def numpys(reductions):
    """NumPy's own functions are in their places meanwhile."""
    ours = {name: getattr(fromnumeric, name) for name in REDUCTIONS}
    for name, real in reductions.items():
        setattr(fromnumeric, name, real)
    yield
    for name, one in ours.items():
        setattr(fromnumeric, name, one)


def rows(rng, most=1500):
    """With two axes as a rule, whole or a part of others."""
    kind = np.dtype(rng.choice(KINDS))
    count, columns = (
        rng.choice((1, 63, 64, *(rng.randint(65, most) for _ in range(5)))),
        rng.randint(1, 9),
    )
    more = (rng.randint(1, 4),) * rng.choice((0, 0, 0, 1))
    generator = np.random.RandomState(rng.randrange(2**32))
    values = generator.standard_normal((count, columns, *more)) * 10.0 ** rng.randint(-3, 30)
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        array = (values > 0) if kind.kind == "b" else values.astype("i8").astype(kind)
        array = values.astype(kind) if kind.kind in "fc" else array
    if kind.kind == "f" and rng.random() < 0.5:
        odd = generator.choice([0.0, -0.0, np.inf, -np.inf, np.nan, -np.nan], array.shape)
        array[generator.random_sample(array.shape) < 0.02] = 0
        mask = generator.random_sample(array.shape) < rng.choice((0, 0.001, 0.3))
        array = np.where(mask, odd, array).astype(kind)
    way = rng.randrange(7)
    if way == 1:
        array = array[::-1]
    elif way == 2:
        array = np.asfortranarray(array)
    elif way == 3:
        array = array[:, ::2]
    elif way == 4:
        array = np.concatenate([array, array], 1)[:, : array.shape[1]]
    elif way == 5:
        array.flags.writeable = False
    elif way == 6:
        array = np.broadcast_to(array[:1], array.shape)
    return array


def counted(native, calls):
    """Notes for each call whether the native form made it."""

    def made(args, named):
        found = native(args, named)
        calls.append(found is not None)
        return found

    return made


def told(warning):
    return warning.category, str(warning.message), warning.filename, warning.lineno


def seen(function, *args, **named):
    """Everything that a program can see of a call."""
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            made = function(*args, **named)
        except Exception as error:
            return type(error), str(error), [told(one) for one in said]
    said = [told(one) for one in said]
    if not isinstance(made, np.ndarray):
        return type(made), np.asarray(made).tobytes(), said
    flags = made.flags.c_contiguous, made.flags.writeable, made.flags.owndata
    return type(made), made.dtype, made.shape, made.strides, flags, made.tobytes(), said


@in_own_process
def test_sums_are_numpys():
    _, (_, real) = enable()
    rng, native = random.Random(SEED), []
    for name in REDUCTIONS:
        mine = getattr(fromnumeric, name).ours
        mine._native = counted(mine._native, native)
    for case in range(600):
        array = rows(rng)
        given = rng.choice(WAYS)
        for function in (np.sum, np.all, np.any, np.prod, np.max):
            note = SEED, case, function, array.dtype, array.shape, array.strides, given
            with np.errstate(all=rng.choice(("warn", "ignore", "raise"))):
                mine = seen(function, array, **given)
                with numpys(real):
                    assert mine == seen(function, array, **given), note
    assert sum(native) > 60


@in_own_process
def test_numpys_functions_stay_what_they_are():
    before = np.sum, np.all, np.any
    enable()
    assert all(now is then for now, then in zip((np.sum, np.all, np.any), before, strict=True))
    assert pickle.loads(pickle.dumps(functools.partial(np.sum, axis=0))).func is np.sum

    class Own:
        def __array_function__(self, function, types, args, named):
            return "own" if function is np.sum else NotImplemented

    assert np.sum(Own()) == "own"


@in_own_process
def test_a_warning_of_a_shuffle_names_the_programs_line():
    _, (real, _) = enable()

    def shuffled(shuffle):
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            shuffle(torch.tensor([1, 2, 3]))  # NumPy warns of what is no sequence
        return [told(one) for one in said]

    mine, theirs = shuffled(np.random.shuffle), shuffled(real)
    assert mine == theirs and mine[0][2] == __file__


@in_own_process
def test_shuffles_are_numpys():
    _, (real, _) = enable()
    rng, native = random.Random(SEED), []
    np.random.shuffle._native = counted(np.random.shuffle._native, native)
    for case in range(600):
        array, seed = rows(rng), rng.randrange(2**32)
        found = []
        for shuffle in (np.random.shuffle, real):
            np.random.seed(seed)
            given = array.copy(order="K") if array.flags.writeable else array
            if array.flags.writeable and array.strides[0] < 0:
                given = given[::-1].copy()[::-1]
            outcome = seen(shuffle, given)
            found.append(
                (outcome, given.tobytes(), np.random.random(), repr(np.random.get_state()))
            )
        assert found[0] == found[1], (SEED, case, array.dtype, array.shape, array.strides)
    assert sum(native) > 80


@in_own_process
def test_what_else_is_shuffled_is_numpys():
    functions, (real, _) = enable()
    given = list(range(100)), np.arange(100), np.array([[1, "a"]] * 70, object), [[1, 2], [3, 4]]
    for thing in given:
        found = []
        for shuffle in (np.random.shuffle, real):
            np.random.seed(7)
            held = thing.copy()
            shuffle(held)
            found.append((repr(held), np.random.random()))
        assert found[0] == found[1]
    assert seen(np.random.shuffle)[0] is TypeError
    assert seen(np.random.shuffle, 5) == seen(real, 5)


@in_own_process
def test_a_shuffle_of_the_programs_own_stays():
    def own(rows):
        rows[:] = 0

    np.random.shuffle = own
    enable()
    assert np.random.shuffle is own


@in_own_process
def test_another_generators_shuffle_stays():
    np.random.shuffle = np.random.RandomState(3).shuffle
    own = np.random.shuffle
    enable()
    assert np.random.shuffle is own


@in_own_process
def test_another_numpys_bits_end_it():
    from headrace.stage import numpy_functions

    numpy_functions._shuffled = lambda x, shuffle: shuffle(np.arange(len(x))) is None
    _, (real, _) = enable()
    rows = np.arange(4000).reshape(1000, 4)
    np.random.seed(1)
    mine = rows.copy()
    np.random.shuffle(mine)
    np.random.seed(1)
    theirs = rows.copy()
    real(theirs)
    assert (mine == theirs).all() and not np.random.shuffle._on


@in_own_process
def test_other_reductions_are_no_refusals():
    from headrace.stage import functions

    functions.enable()
    ours, small = fromnumeric._wrapreduction.ours, np.ones((2000, 3), np.float32)
    for _ in range(functions._MOST_REFUSED):
        for reduction in (np.max, np.min, np.prod):
            reduction(small, 1)
        for given in ((small,), (small, 0), (small[:10], 1)):
            np.sum(*given)
    assert ours._resting == ours._refused == 0
    native = []
    ours._native = counted(ours._native, native)
    assert np.sum(np.ones((2000, 3)), 1).tobytes() == np.full(2000, 3.0).tobytes()
    assert native and all(native)


@in_own_process
def test_calls_that_are_none_of_ours_are_let_alone():
    from headrace.stage import functions

    functions.enable()
    whole = np.ones((2000, 3), int)
    ours = fromnumeric._wrapreduction.ours
    for _ in range(functions._MOST_REFUSED):
        np.sum(whole, 1)
    assert ours._resting > 0
    resting = ours._resting
    assert np.sum(np.ones((2000, 3)), 1).tobytes() == np.full(2000, 3.0).tobytes()
    assert ours._resting == resting - 1


def sizes(rng):
    many = rng.choice((1024, 1025, 1500, rng.randint(1024, 9000)))
    rows = rng.randint(300, 900)
    return rng.choice(
        (many, many, (many,), (rows, 4), (rows, 2, 3), [rows, 5], 1, 5, 1023, 0, (0, 3), (), None)
        + (np.int64(many), (np.int64(many),), float(many), -1, "3", (rows, -4), True)
    )


def drawn(rng):
    """A call of one of the three, by name and by place."""
    loc = rng.choice(
        (0, 0.0, -3.5, 1e300, np.float64(2), np.float32(2), np.inf, np.nan, [0.0], "a")
    )
    scale = rng.choice((1, 0.02, 0.5, 1e-300, 1e300, np.float64(3), 0, -0.0, 0.0, -1, np.nan, True))
    if rng.random() < 0.5:
        loc, scale = rng.uniform(-2, 2), rng.uniform(0.01, 3)
    size = sizes(rng)
    rest = {"loc": loc, "scale": scale, "size": size}
    return rng.choice(
        (
            ("normal", (loc, scale, size), {}),
            ("normal", (loc,), {"scale": scale, "size": size}),
            ("normal", (), rest),
            ("normal", (), {"size": size}),
            ("normal", (loc, scale, size, 1), {}),
            ("normal", (), {"sise": size}),
            ("standard_normal", (size,), {}),
            ("standard_normal", (), {"size": size}),
            ("standard_normal", (), {}),
            ("randn", tuple(size) if isinstance(size, tuple | list) else (size,), {}),
            ("randn", (), {}),
        )
    )


NORMALS = "normal", "standard_normal", "randn"


@in_own_process
def test_normal_numbers_are_numpys():
    real = {name: getattr(np.random, name) for name in NORMALS}
    enable()
    ours, rng, native = (
        {name: getattr(np.random, name) for name in NORMALS},
        random.Random(SEED),
        [],
    )
    for one in ours.values():
        one._native = counted(one._native, native)
    found = []
    for way in (ours, real):  # calls in a row: a number that one keeps is the next one's
        rng = random.Random(SEED)
        np.random.seed(SEED % 2**32)
        seen_of = []
        for case in range(900):
            name, args, named = drawn(rng)
            if rng.random() < 0.1:
                np.random.seed(case)
            elif rng.random() < 0.1:
                np.random.set_state(np.random.RandomState(case).get_state())
            elif rng.random() < 0.3:
                np.random.random(rng.randrange(700))
            outcome = seen(way[name], *args, **named)
            kept = hash(repr(np.random.get_state()))
            seen_of.append((name, args, named, outcome, kept, np.random.get_state()[3:]))
        found.append(seen_of)
    for case, (mine, theirs) in enumerate(zip(*found, strict=True)):
        assert repr(mine) == repr(theirs), (SEED, case, mine[:3])
    assert sum(native) > 60, sum(native)


@in_own_process
def test_normal_numbers_of_another_generator_are_its_own():
    real = np.random.normal
    enable()
    found = []
    np.random.normal(size=2000)
    before = np.random.get_bit_generator()
    for normal in (np.random.normal, real):
        np.random.set_bit_generator(np.random.MT19937(7))
        found.append((normal(0, 1, 3000).tobytes(), normal(0, 1, 3000).tobytes()))
        np.random.set_bit_generator(np.random.PCG64(7))
        found[-1] += (normal(0, 1, 3000).tobytes(), np.random.random())
        np.random.set_bit_generator(before)
    assert found[0] == found[1] and np.random.normal._on


@in_own_process
def test_other_normal_numbers_end_it():
    from headrace import _images

    made = _images.draw_normals
    _images.draw_normals = lambda *args: made(*args) and args[-1].fill(1) is None
    real = np.random.normal
    enable()
    found = []
    for normal in (np.random.normal, real):
        np.random.seed(1)
        found.append((normal(0, 1, 3000).tobytes(), np.random.random()))
    assert found[0] == found[1] and not np.random.normal._on
