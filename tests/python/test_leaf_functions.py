"""Functions of libraries that read files: what a lane found is what the library returns, or the library returns it."""

import io
import os
import time
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.lib import npyio
from support.leaf_doors import keep_all as begin
from support.own_process import in_own_process

SEED = 20261129


def seen(read):
    """Value, error and warnings."""
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            value = read()
        except Exception as error:
            value = type(error), str(error)
    told = [(one.category, str(one.message)) for one in heard]
    if isinstance(value, np.ndarray):
        value = (
            type(value),
            value.dtype,
            value.shape,
            value.strides,
            value.tobytes(),
            repr(value.flags),
        )
    return repr(value), told


def compare(path, calls, real, names, worker):
    """Each call in four lanes, against the library's own."""
    stock = [seen(lambda call=call: real(call)) for call in calls]
    for lane in range(4):
        worker.lane()
        for call, own in zip(calls, stock, strict=True):
            assert seen(lambda call=call: names(call)) == own, (lane, call)
    worker.lane()


@in_own_process
def test_loadtxt_and_genfromtxt_are_numpys(tmp_path):
    folder = Path(tmp_path)
    rng = np.random.default_rng(SEED)
    np.savetxt(folder / "cloud.txt", rng.normal(size=(300, 6)))
    np.savetxt(folder / "cloud.csv", rng.normal(size=(50, 3)), delimiter=",", header="x,y,z")
    np.savetxt(folder / "packed.txt.gz", rng.normal(size=(40, 2)))
    (folder / "empty.txt").write_text("")
    (folder / "bad.txt").write_text("1 2\n3 x\n")
    (folder / "ragged.txt").write_text("1 2\n3\n")
    (folder / "whole.txt").write_text("1 2\n3 4.0\n")
    cloud, table = str(folder / "cloud.txt"), str(folder / "cloud.csv")
    calls = [
        ((cloud,), {}),
        ((folder / "cloud.txt",), {"dtype": np.float32}),
        ((cloud,), {"dtype": "float32", "usecols": (0, 2)}),
        ((cloud,), {"max_rows": 1}),
        ((cloud,), {"max_rows": 1, "ndmin": 2}),
        ((cloud,), {"usecols": 1, "skiprows": 3}),
        ((cloud,), {"unpack": True}),
        ((cloud,), {"dtype": np.longdouble}),
        ((table,), {"delimiter": ","}),
        ((table,), {"delimiter": ",", "converters": {0: lambda text: 7.0}}),
        ((str(folder / "packed.txt.gz"),), {}),
        ((str(folder / "empty.txt"),), {}),
        ((str(folder / "bad.txt"),), {}),
        ((str(folder / "ragged.txt"),), {}),
        ((str(folder / "whole.txt"),), {"dtype": int}),
        ((str(folder / "none.txt"),), {}),
        ((str(folder),), {}),
        ((["1 2", "3 4"],), {}),
    ]
    real = np.loadtxt, np.genfromtxt
    worker = begin()
    assert np.loadtxt is not real[0]
    for number, name in enumerate(("loadtxt", "genfromtxt")):
        used = [(args, named) for args, named in calls if number == 0 or "skiprows" not in named]
        if number == 1:
            used = [(a, n) for a, n in used if not {"ndmin", "unpack", "max_rows"} & set(n)]
        compare(
            folder,
            used,
            lambda call, number=number: real[number](*call[0], **call[1]),
            lambda call, name=name: getattr(np, name)(*call[0], **call[1]),
            worker,
        )
    assert worker.hits > 30 and worker.entries >= 12


@in_own_process
def test_what_is_written_into_an_array_is_the_programs_own(tmp_path):
    path = Path(tmp_path) / "cloud.txt"
    np.savetxt(path, np.arange(600.0).reshape(100, 6))
    worker = begin()
    for _ in range(4):
        worker.lane()
        made = [np.loadtxt(path) for _ in range(3)]
        assert all(one.tolist() == np.arange(600.0).reshape(100, 6).tolist() for one in made)
        assert len({id(one) for one in made}) == 3
        for one in made:
            one -= one.mean()
            one.resize(3, refcheck=False)
    worker.lane()
    assert worker.entries == 1 and worker.hits == 9


@in_own_process
def test_imread_is_opencvs(tmp_path):
    cv2 = pytest.importorskip("cv2")
    folder, rng = Path(tmp_path), np.random.default_rng(SEED)
    for name, kind, shape in (
        ("rgb.png", np.uint8, (40, 30, 3)),
        ("grey.png", np.uint8, (40, 30)),
        ("deep.png", np.uint16, (40, 30)),
        ("alpha.png", np.uint8, (40, 30, 4)),
        ("photo.jpg", np.uint8, (40, 30, 3)),
        ("grey.jpg", np.uint8, (40, 30)),
    ):
        cv2.imwrite(str(folder / name), rng.integers(0, np.iinfo(kind).max, shape).astype(kind))
    content = (folder / "rgb.png").read_bytes()
    (folder / "cut.png").write_bytes(content[: len(content) // 2])
    (folder / "text.png").write_text("no picture")
    flags = cv2.IMREAD_COLOR, cv2.IMREAD_GRAYSCALE, cv2.IMREAD_UNCHANGED, cv2.IMREAD_REDUCED_COLOR_2
    names = sorted(os.listdir(folder)) + ["none.png"]
    calls = [((str(folder / name),), {}) for name in names]
    calls += [((str(folder / name), flag), {}) for name in names for flag in flags]
    calls += [((str(folder / "rgb.png"),), {"flags": -1}), ((folder / "rgb.png",), {}), ((7,), {})]
    real = cv2.imread
    worker = begin()
    compare(
        folder,
        calls,
        lambda call: real(*call[0], **call[1]),
        lambda call: cv2.imread(*call[0], **call[1]),
        worker,
    )
    assert worker.hits > 40 and worker.entries >= 20


@in_own_process
def test_sound_is_soundfiles(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    folder, rng = Path(tmp_path), np.random.default_rng(SEED)
    sound = rng.uniform(-0.9, 0.9, (4000, 2))
    for name in ("a.flac", "a.wav", "a.ogg"):
        soundfile.write(folder / name, sound, 16000)
    soundfile.write(folder / "one.flac", sound[:, 0], 8000)
    names = [*sorted(os.listdir(folder)), "none.flac"]
    calls = [((str(folder / name),), {}) for name in names]
    calls += [((str(folder / name),), {"dtype": "float32", "always_2d": True}) for name in names]
    calls += [
        ((str(folder / "a.flac"), 100), {"start": 50}),
        ((str(folder / "a.flac"),), {"stop": -7}),
    ]
    real = soundfile.read

    def both(value):
        return (value[0], value[1]) if isinstance(value, tuple) else value

    def told(read, call):
        value = both(read(*call[0], **call[1]))
        array, rate = value
        assert type(rate) is int
        return np.append(array.reshape(-1), rate) if array.size else (array.shape, rate)

    worker = begin()
    compare(
        folder,
        calls,
        lambda call: told(real, call),
        lambda call: told(soundfile.read, call),
        worker,
    )
    assert worker.hits > 20 and worker.entries >= 9


@in_own_process
def test_a_kept_result_that_is_not_the_librarys_ends_the_keeping(tmp_path):
    path = Path(tmp_path) / "cloud.txt"
    np.savetxt(path, np.ones((10, 2)))
    worker = begin()
    worker.lane()
    np.loadtxt(path)
    worker.lane()
    for number, (content, rows) in worker.segments.items():
        worker.segments[number] = (
            content.replace(np.float64(1).tobytes(), np.float64(2).tobytes()),
            rows,
        )
    for _ in range(3):
        assert np.loadtxt(path).tolist() == [[1, 1]] * 10
    worker.lane()
    assert worker.hits == 1, "it was not asked again"


@in_own_process
def test_a_function_that_the_program_has_replaced_is_the_programs(tmp_path):
    path = Path(tmp_path) / "cloud.txt"
    np.savetxt(path, np.ones((10, 2)))

    class Own:
        def __call__(self, name):
            return name

    np.loadtxt = own = Own()
    np.genfromtxt = mine = lambda name: time.time()
    npyio.NpzFile.__getitem__ = at = lambda archive, name: name
    worker = begin()
    worker.lane()
    assert np.loadtxt is own and np.loadtxt(path) == path
    assert np.genfromtxt is mine and npyio.NpzFile.__getitem__ is at


def archive(path):
    """Packed and plain arrays of all kinds, and other members."""
    rng = np.random.default_rng(SEED)
    numbers = rng.normal(size=(300, 6))
    np.savez_compressed(
        path, a=numbers, b=numbers.astype("f4"), whole=rng.integers(0, 9, (50, 50)), flat=numbers[0],
        order=np.asfortranarray(numbers), turned=numbers.T, big=numbers.astype(">f8"), one=np.array(7),
        none=np.empty((0, 3)), text=np.array(["a", "bc"]), truth=numbers > 0,
        named=np.array([(1, 2.0)], [("x", "i4"), ("y", "f8")]), objects=np.array([None, 3], object),
    )  # fmt: skip
    with zipfile.ZipFile(path, "a", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("note.txt", "no array" * 99)
        packed.write(path.with_suffix(".npy"), "plain.npy", zipfile.ZIP_STORED)
        content = path.with_suffix(".npy").read_bytes()
        packed.writestr("cut.npy", content[: len(content) // 2])
        packed.writestr("two.npy", content.replace(b"(300, 6), }", b"(300L, 6),}"))


@in_own_process
def test_packed_arrays_are_numpys(tmp_path):
    path = Path(tmp_path) / "a.npz"
    np.save(path.with_suffix(".npy"), np.random.default_rng(SEED).normal(size=(300, 6)))
    archive(path)
    with np.load(path) as found:
        names = [*found.files, "a.npy", "nothing", 7, None]
    calls = []

    def add(name, opens=lambda: path, **how):
        def look():
            with np.load(opens(), **how) as found:
                seen_file = found.zip.fp
                value = found[name]
                return value if opens() is path else (value, seen_file.tell())

        calls.append(look)

    for name in names:
        add(name)
        add(name, allow_pickle=True)
        add(name, lambda: open(path, "rb"))
        add(name, lambda: io.BytesIO(path.read_bytes()))
    add("a", max_header_size=8)
    stock = [seen(call) for call in calls]
    assert any(told for _, told in stock), "that of Python 2"
    worker = begin()
    for lane in range(4):
        worker.lane()
        for number, (call, own) in enumerate(zip(calls, stock, strict=True)):
            assert seen(call) == own, (lane, number)
    worker.lane()
    assert worker.hits > 25 and worker.entries >= 6, (worker.hits, worker.entries)
    with np.load(path) as found:
        values = [found["a"], found.f.a, next(iter(found.items()))[1], found.get("a")]
        assert len({id(value) for value in values}) == 4
        values[0][:] = 0
        assert found["a"].any() and all(value.any() for value in values[1:])


@in_own_process
def test_an_archive_that_has_changed_is_read_again(tmp_path):
    path, rng = Path(tmp_path) / "a.npz", np.random.default_rng(SEED)
    numbers, worker = rng.normal(size=(40, 40)), begin()
    for step in range(12):
        numbers = rng.normal(size=(40, 40)) if step % 3 == 0 else numbers
        np.savez_compressed(path, a=numbers, b=numbers + 1)
        worker.lane()
        for _ in range(2):
            with np.load(path) as found:
                assert np.array_equal(found["a"], numbers), step
                assert np.array_equal(found["b"], numbers + 1), step


@in_own_process
def test_lanes_need_not_find_out_again_that_a_function_is_not_worth_keeping(tmp_path):
    from headrace.stage import functions, leaf_cost

    path = Path(tmp_path) / "cloud.txt"
    np.savetxt(path, np.ones((10, 2)))
    worker = begin()
    leaf_cost.is_worth = lambda seconds, size, first: False
    worker.lane()
    before = functions.news()
    for _ in range(leaf_cost.Worth.LAST):
        np.loadtxt(path)
    assert functions.news() > before, "or nobody would be told"
    told = {}
    functions.tell_into(told)
    leaf = np.loadtxt._entry.leaf
    leaf.worth = leaf_cost.Worth()
    functions.know(told)
    assert leaf.rests(worker.lane()), "the next lane's first call is not looked at"
