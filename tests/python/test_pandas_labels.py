"""Rows and frames that are asked for several labels in programs' lanes: pandas' own results, types, warnings and
errors (stage/pandas_labels.py)."""

import pickle
import random
import warnings

import numpy as np
import pandas as pd
from support.own_process import in_own_process

SEED = 20261130
NAMES = ["price", "load", "wind", "", "Price", "städte", "kind", "0"]


def enable():
    """Returns the native form, and pandas' own."""
    from headrace.stage import functions

    strict = pd.Index._get_indexer_strict
    functions._MOST_REFUSED = 1 << 30  # none of them rests
    functions.enable()
    assert pd.Index._get_indexer_strict is not strict
    return pd.Index._get_indexer_strict, strict


def indexes(rng):
    names = rng.sample(NAMES, rng.randint(1, len(NAMES)))
    kind = rng.randrange(12)
    if kind == 0:
        return pd.Index([*names, names[0]])
    if kind == 1:
        return pd.Index([*names, 3, None, 1.0], dtype=object)
    if kind == 2:
        return pd.MultiIndex.from_product([names, ["a", "b"]])
    if kind == 3:
        return pd.CategoricalIndex(names)
    if kind == 4:
        return pd.Index(range(len(names)))
    if kind == 5:
        return pd.date_range("2020-01-01", periods=len(names), name="day")
    if kind == 6:
        return pd.Index(names, dtype=object, name="of")
    if kind == 7:
        return pd.Index([*names, np.nan])
    return pd.Index(names, name=rng.choice((None, "of", 3)))


def frames(rng):
    columns = indexes(rng)
    values = np.arange(4.0 * len(columns)).reshape(4, -1)
    made = pd.DataFrame(values, columns=columns, index=rng.choice((None, list("abcd"))))
    if rng.random() < 0.5 and columns.is_unique and columns.nlevels == 1:
        made[columns[0]] = rng.choice((list("wxyz"), [1, 2, 3, 4], pd.Timestamp("2021-01-01")))
    made.attrs["from"] = "a test"
    return made


def keys(rng, columns):
    held = list(columns)
    some = [rng.choice(held) for _ in range(rng.randint(1, 5))]
    return rng.choice(
        (some, some, some, held[::-1], held[:1], [], tuple(some), np.array(some, object))
        + (pd.Index(some), [*some, "none such"], ["none such"], [0, 1], [True, 1], [some])
        + ([np.str_(one) for one in some], slice(None), [None], some * 30)
    )


def told(made):
    """All that a program can see of a result."""
    if not isinstance(made, pd.Series | pd.DataFrame):
        return type(made), repr(made)
    axes = [
        (
            type(axis),
            axis.dtype,
            axis.name,
            list(axis),
            type(getattr(axis, "_data", None)),
            axis.is_unique,
        )
        for axis in made.axes
    ]
    blocks = [(type(block.values), block.dtype, block.shape) for block in made._mgr.blocks]
    name = made.name if isinstance(made, pd.Series) else None
    return type(made), repr(axes), repr(blocks), repr(made.values.tolist()), name, made.attrs


def seen(call):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            found = told(call())
        except Exception as error:
            found = type(error), str(error)
    return found, [(one.category, str(one.message), one.filename, one.lineno) for one in said]


def calls(frame, key):
    row = frame.iloc[1]
    yield lambda: row[key]
    yield lambda: frame.iloc[2].loc[key]
    yield lambda: frame[key]
    yield lambda: frame.loc[:, key]
    yield lambda: frame.loc[frame.index[:2], key]
    yield lambda: frame.loc[key]
    yield lambda: frame.reindex(columns=key)


@in_own_process
def test_results_are_pandas():
    ours, strict = enable()
    rng, native = random.Random(SEED), []
    replaced = ours.__closure__[0].cell_contents
    made = replaced._native
    replaced._native = lambda args, named: native.append(made(args, named)) or native[-1]
    for case in range(60):
        frame = frames(rng)
        for key in [keys(rng, frame.columns) for _ in range(3)] * 2:
            found = []
            for function in (ours, strict, ours):
                pd.Index._get_indexer_strict = function
                found.append([seen(call) for call in calls(frame, key)])
            assert found[0] == found[1] == found[2], (SEED, case, frame, key)
        again = pickle.loads(pickle.dumps(frame))
        assert told(again) == told(frame)
    assert sum(one is not None for one in native) > 300 and replaced._on


@in_own_process
def test_results_share_nothing():
    ours, _ = enable()
    frame = pd.DataFrame([[1.0, 2.0, 3.0]], columns=["a", "b", "c"])
    for _ in range(2):  # as a program may use it
        frame.columns._get_indexer_strict(["c", "a"], "columns")[1][:] = 0
    first = frame.iloc[0][["c", "a"]]
    assert first.tolist() == [3.0, 1.0]
    first.index.name = "mine"
    first["a"] = 9
    second = frame.iloc[0][["c", "a"]]
    assert second.index.name is None and second.tolist() == [3.0, 1.0]
    assert not first.index.is_(second.index)
    frame.columns = ["c", "b", "a"]
    assert frame.iloc[0][["c", "a"]].tolist() == [1.0, 3.0]


@in_own_process
def test_few_calls_are_kept():
    from headrace.stage import pandas_labels

    enable()
    names = [f"n{number}" for number in range(40)]
    frame = pd.DataFrame(np.arange(40.0)[None], columns=names)
    for first in range(38):
        assert frame.iloc[0][names[first : first + 2]].tolist() == [first, first + 1]
    assert len(frame.columns._cache["headrace_places"]) == pandas_labels._MOST_CALLS
