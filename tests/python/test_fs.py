"""headrace.fs: objects as files, for code that opens paths by fsspec."""

import pickle
import random
import subprocess
import sys

import fsspec
import numpy as np
import pytest
from headrace.fs import HttpFileSystem, ObjectChanged, S3FileSystem
from support.object_server import BUCKET, Faults, Store, moto, serve
from support.programs import run_program

TOKENS = np.random.default_rng(2).integers(0, 50_000, 400_000, np.uint16).tobytes()
OBJECTS = {
    "set/tokens.bin": TOKENS,
    "set/a/1.txt": b"one",
    "set/a/2 +ä.txt": b"two",
    "set/a/deep/3.txt": b"three",
    "set/empty": b"",
    "set/folder/": b"",
    "other.txt": b"other",
}


@pytest.fixture
def store():
    with serve(Store(dict(OBJECTS), page=2)) as made:
        yield made


@pytest.fixture
def files(store):
    return S3FileSystem(endpoint=store.url, skip_instance_cache=True)


def test_fsspec_finds_it_by_its_url(store):
    given = {"endpoint": store.url}
    with fsspec.open(f"headrace+s3://{BUCKET}/set/a/1.txt", "rt", **given) as file:
        assert file.read() == "one"
    where, _, (path,) = fsspec.get_fs_token_paths(
        f"headrace+s3://{BUCKET}/other.txt", "rb", 1, given
    )
    assert type(where) is S3FileSystem and path == f"{BUCKET}/other.txt"
    assert where.unstrip_protocol(path) == f"headrace+s3://{BUCKET}/other.txt"
    with fsspec.open(f"headrace+{store.url}/set/a/1.txt") as file:
        assert file.read() == b"one"
    chained = fsspec.open(f"filecache::headrace+s3://{BUCKET}/set/a/1.txt", headrace=given, **{
        "headrace+s3": given})  # fmt: skip
    with chained as file:
        assert file.read() == b"one"


def test_without_fsspec_nothing_asks_for_it():
    code = "import sys; sys.modules['fsspec'] = None; import headrace, headrace.capture, headrace.objects"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_lists(files):
    base = f"{BUCKET}/set"
    names = [f"{base}/{n}" for n in ("a", "empty", "folder", "tokens.bin")]
    assert files.ls(f"headrace+s3://{base}/", detail=False) == names
    sizes = {entry["name"]: (entry["type"], entry["size"]) for entry in files.ls(base)}
    assert sizes[f"{base}/tokens.bin"] == ("file", len(TOKENS))
    assert sizes[f"{base}/a"] == ("directory", 0)
    every = [
        f"{base}/{n}" for n in ("a/1.txt", "a/2 +ä.txt", "a/deep/3.txt", "empty", "tokens.bin")
    ]
    assert files.find(base) == sorted(every)
    assert files.find(base, detail=True)[f"{base}/a/1.txt"]["size"] == 3
    assert files.find(base, maxdepth=1) == [f"{base}/empty", f"{base}/tokens.bin"]
    assert files.glob(f"{base}/**/*.txt") == sorted(every)[:3]
    assert [root for root, _, _ in files.walk(f"{base}/a")] == [f"{base}/a", f"{base}/a/deep"]
    assert files.ls(f"{base}/a/1.txt", detail=False) == [f"{base}/a/1.txt"]


def test_what_is_there(files):
    base = f"{BUCKET}/set"
    assert files.info(f"{base}/tokens.bin")["size"] == len(TOKENS)
    assert files.isfile(f"{base}/empty") and files.isdir(f"{base}/a") and files.isdir(BUCKET)
    assert not files.exists(f"{base}/a/1") and not files.exists(f"{base}/b")
    for ask in (files.info, files.ls, files.cat_file, files.open):
        with pytest.raises(FileNotFoundError):
            ask(f"{base}/none")


def test_ranges(files, store):
    path = f"{BUCKET}/set/tokens.bin"
    size = len(TOKENS)
    asked = len(store.queries)
    assert files.cat_file(path) == TOKENS and len(store.queries) == asked + 1
    assert files.cat(path) == TOKENS
    for start, end in [(0, 1), (5, 5), (7, 900), (-10, None), (None, -5), (-20, -3), (size - 3, size + 9),
                       (size, size + 5), (100, 50)]:  # fmt: skip
        assert files.cat_file(path, start, end) == TOKENS[start:end], (start, end)
    assert files.cat_file(f"{BUCKET}/set/empty") == b""
    starts = list(range(0, size - 100, size // 40))
    ends = [start + 64 for start in starts]
    found = files.cat_ranges([path] * len(starts), starts, ends)
    assert found == [TOKENS[a:b] for a, b in zip(starts, ends, strict=True)]
    (missing,) = files.cat_ranges([f"{BUCKET}/none"], 0, 5)
    assert isinstance(missing, FileNotFoundError)
    with pytest.raises(FileNotFoundError):
        files.cat_ranges([f"{BUCKET}/none"], 0, 5, on_error="raise")


def test_large_reads_are_several(files, store, monkeypatch):
    from headrace.fs import objects

    monkeypatch.setattr(objects, "_MOST_BYTES", 1000)
    asked = len(store.queries)
    assert files.cat_file(f"{BUCKET}/set/tokens.bin", 10, 5_678) == TOKENS[10:5_678]
    assert len(store.queries) - asked == 6


def test_an_open_file_reads_ahead(files, store):
    with files.open(f"{BUCKET}/set/tokens.bin", block_size=100_000) as file:
        asked = len(store.queries)
        read = [file.read(1000) for _ in range(50)]
        assert b"".join(read) == TOKENS[:50_000]
        assert len(store.queries) - asked == 1, "a request for each read"
        file.seek(-5, 2)
        assert file.read() == TOKENS[-5:] and file.tell() == len(TOKENS)


@pytest.mark.parametrize("cache", ["readahead", "bytes", "blockcache", "none", "all"])
def test_any_order_of_reads(files, cache):
    draw = random.Random(7)
    with files.open(f"{BUCKET}/set/tokens.bin", block_size=50_000, cache_type=cache) as file:
        for _ in range(30):
            at, count = draw.randrange(len(TOKENS)), draw.randrange(1, 120_000)
            file.seek(at)
            assert file.read(count) == TOKENS[at : at + count]


def test_a_change_of_an_open_object_is_an_error(files, store):
    with files.open(f"{BUCKET}/set/tokens.bin", block_size=1000) as file:
        assert file.read(10) == TOKENS[:10]
        store.objects["set/tokens.bin"] = bytes(len(TOKENS))
        file.seek(300_000)
        with pytest.raises(ObjectChanged, match="changed since it was opened"):
            file.read(10)
    with files.open(f"{BUCKET}/set/tokens.bin", block_size=1000) as file:
        assert file.read(10) == bytes(10)


def test_faults_of_a_store_change_no_byte():
    faults = Faults(seed=5, busy=0.2, throttled=0.1, cut=0.2)
    with serve(Store(dict(OBJECTS), faults)) as store:
        files = S3FileSystem(endpoint=store.url)
        with files.open(f"{BUCKET}/set/tokens.bin", block_size=40_000) as file:
            assert file.read() == TOKENS
        assert len(files.find(f"{BUCKET}/set")) == 5


def test_nothing_is_written(files):
    path = f"{BUCKET}/set/new"
    for write in (
        lambda: files.open(path, "wb"), lambda: files.pipe(path, b"1"), lambda: files.rm(path),
        lambda: files.touch(path), lambda: files.mkdir(path), lambda: files.cp_file(path, path),
    ):  # fmt: skip
        with pytest.raises(OSError, match="only read here"):
            write()


def test_it_travels_without_credentials(files, store, monkeypatch):
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "some-id")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "some-word")
    content = pickle.dumps(files)
    assert b"some-" not in content
    assert pickle.loads(content).cat_file(f"{BUCKET}/other.txt") == b"other"
    with files.open(f"{BUCKET}/other.txt") as file:
        assert file.read(2) == b"ot"
        content = pickle.dumps(file)
        assert pickle.loads(content).read() == b"her"
    store.objects["other.txt"] = b"OTHER"
    with pytest.raises(ObjectChanged):
        pickle.loads(content)


def test_a_web_server(store):
    files = HttpFileSystem()
    host = store.url.removeprefix("http://")
    assert files.cat_file(f"headrace+http://{host}/set/a/1.txt") == b"one"
    assert files.ls(f"{host}/other.txt", detail=False) == [f"{host}/other.txt"]
    with pytest.raises(OSError, match="lists no folders"):
        files.ls(f"{host}/set")
    with pytest.raises(FileNotFoundError):
        files.open(f"{host}/none")


# Programs of their own: these libraries have threads, which forks of later tests should not have.
WRITE = """
import pathlib, sys
import numpy as np, pandas
folder = pathlib.Path(sys.argv[1])
rows = pandas.DataFrame({"x": np.arange(20_000), "y": np.random.default_rng(0).random(20_000)})
for part in range(2):
    (folder / f"part={part}").mkdir()
    rows.to_parquet(folder / f"part={part}" / "rows.parquet", row_group_size=4_000)
rows.to_csv(folder / "rows.csv", index=False)
"""
READ = """
import pathlib, sys
import pandas, pyarrow.dataset, pyarrow.fs, pyarrow.parquet
from headrace.fs import S3FileSystem
folder, bucket = pathlib.Path(sys.argv[1]), sys.argv[2]
rows = pandas.read_csv(folder / "rows.csv")
base = f"headrace+s3://{bucket}/set"
read = pandas.read_parquet(f"{base}/part=0/rows.parquet", columns=["y"])
pandas.testing.assert_frame_equal(read, rows[["y"]])
pandas.testing.assert_frame_equal(pandas.read_csv(f"{base}/rows.csv"), rows)
files = S3FileSystem()
arrow = pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(files))
table = pyarrow.parquet.read_table(f"{bucket}/set/part=1/rows.parquet", filesystem=arrow)
assert table.column("x").to_pylist() == rows["x"].tolist()
found = pyarrow.dataset.dataset(
    f"{bucket}/set", filesystem=arrow, partitioning="hive", exclude_invalid_files=True
)
assert found.count_rows() == 40_000
assert files.info(f"{bucket}/set/rows.csv")["ETag"].startswith('"')
"""
STREAM = """
import sys
import datasets
base, endpoint = sys.argv[1:]
rows = datasets.load_dataset(
    "csv", data_files=f"{base}/*.csv", split="train", streaming=True,
    storage_options={"headrace+s3": {"endpoint": endpoint}},
)
assert list(rows) == [{"x": 1, "y": 2}, {"x": 3, "y": 4}]
"""


def run(source, *words, **environment):
    code = f"import warnings; warnings.simplefilter('default')\n{source}"
    done = run_program(code, *map(str, words), env=environment)
    assert done.returncode == 0, done.stderr


def test_a_store_that_signs_and_pandas_and_arrow(tmp_path):
    """Parquet is read by ranges; the files are in folders."""
    run(WRITE, tmp_path)
    with moto(tmp_path, "set") as bucket:
        run(READ, tmp_path, BUCKET, **bucket.environment())


def test_hugging_face_data_sets(store, tmp_path):
    store.objects["rows/1.csv"], store.objects["rows/2.csv"] = b"x,y\n1,2\n", b"x,y\n3,4\n"
    run(STREAM, f"headrace+s3://{BUCKET}/rows", store.url, HF_HOME=str(tmp_path))
