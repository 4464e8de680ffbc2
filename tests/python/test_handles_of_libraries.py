"""Which archives, files of HDF5, LMDB, Arrow and SQLite travel to other hosts, and what is opened there."""

import contextlib
import io
import pickle
import sqlite3
import zipfile

import h5py
import lmdb
import numpy as np
import pytest
from support.bundled import dumped, made_again, reason
from support.own_process import in_own_process


@pytest.fixture
def tokens(tmp_path):
    path = tmp_path / "tokens.bin"
    np.arange(5000, dtype=np.uint16).tofile(path)
    return path


@pytest.fixture
def archive(tmp_path):
    path = tmp_path / "set.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        for i in range(5):
            made.writestr(f"{i}.txt", f"text {i}" * 50)
        made.comment = b"said"
    return path


def test_an_archive_is_opened_with_its_directory(archive):
    held = zipfile.ZipFile(archive)
    held.setpassword(b"word")
    held.getinfo("3.txt").filename = "renamed"  # programs flatten names so
    made = made_again(held)
    assert made.namelist() == held.namelist() and made.comment == b"said" and made.pwd == b"word"
    assert made.fp.fileno() != held.fp.fileno() and made.filename == held.filename
    assert made.read("2.txt") == held.read("2.txt")
    assert made.NameToInfo["3.txt"] is made.filelist[3]
    with made.open("4.txt") as member:
        assert member.read(4) == b"text"


def test_archives_that_stay(archive, tmp_path):
    class Own(zipfile.ZipFile):
        pass

    held = zipfile.ZipFile(archive)
    with held.open("1.txt"):
        assert "an open member" in reason(held)
    held.close()
    assert "is closed" in reason(held)
    assert "of class " in reason(Own(archive))
    assert "from a file object" in reason(zipfile.ZipFile(io.BytesIO(archive.read_bytes())))
    with open(archive, "rb") as file:
        assert "from a file object" in reason(zipfile.ZipFile(file))
    with zipfile.ZipFile(tmp_path / "new.zip", "w") as new:
        assert "may be written to" in reason(new)
    held = zipfile.ZipFile(archive)
    archive.unlink()
    assert "not there any more" in reason(held)


@pytest.fixture
def hdf5(tmp_path):
    path = tmp_path / "set.h5"
    with h5py.File(path, "w") as file:
        file["images"] = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)
        file["a/masks"] = np.arange(6)
    return path


def test_a_file_of_hdf5_its_groups_and_data_sets(hdf5, monkeypatch):
    monkeypatch.chdir(hdf5.parent)
    file = h5py.File("set.h5", "r", rdcc_nbytes=1 << 16)
    monkeypatch.chdir("/")
    made = made_again([file["images"], file["a"], file["a/masks"], file])
    assert (made[0][:] == file["images"][:]).all() and (made[1]["masks"][:] == np.arange(6)).all()
    assert made[2].file == made[0].file and made[3].mode == "r"
    assert made[3].id.get_access_plist().get_cache()[2] == 1 << 16
    assert len(dumped(file["images"])) < 1000


def test_objects_of_hdf5_that_stay(hdf5):
    file = h5py.File(hdf5, "r")
    images = file["images"]
    file.close()
    assert "is closed" in reason(images)
    with h5py.File(hdf5, "r", driver="core") as in_memory:
        assert "driver core" in reason(in_memory)
    with open(hdf5, "rb") as held, h5py.File(held, "r") as from_object:
        assert "driver fileobj" in reason(from_object)
    with h5py.File(hdf5, "r+") as writing:
        assert "may be written to" in reason(writing)


@pytest.fixture
def environment(tmp_path):
    path = tmp_path / "lmdb"
    with lmdb.open(str(path), map_size=1 << 20) as made, made.begin(write=True) as writing:
        writing.put(b"a", b"1")
    return path


def test_an_environment_of_lmdb(environment, monkeypatch):
    monkeypatch.chdir(environment.parent)
    held = lmdb.open("lmdb", readonly=True, lock=False, readahead=False, max_readers=7)
    content = dumped(held)
    expected = held.flags(), held.info()["map_size"], held.max_readers()
    held.close()  # LMDB opens none twice in a process
    made = pickle.loads(content)
    assert (made.flags(), made.info()["map_size"], made.max_readers()) == expected
    with made.begin() as reading:
        assert reading.get(b"a") == b"1"
    made.close()


def test_objects_of_lmdb_that_stay(environment):
    held = lmdb.open(str(environment), readonly=True, lock=False)
    with held.begin() as reading:
        assert "an open transaction" in reason(reading)
        assert "an open cursor" in reason(reading.cursor())
    held.close()
    assert "is closed" in reason(held)
    with lmdb.open(str(environment)) as writing:
        assert "may be written to" in reason(writing)
    held = lmdb.open(str(environment), readonly=True, lock=False)
    (environment / "data.mdb").unlink()
    assert "not there any more" in reason(held)


@in_own_process
def test_a_memory_map_of_arrow(tokens):
    """Arrow has threads, which forks of later tests should not have beside them."""
    import pyarrow

    held = pyarrow.memory_map(tokens)
    held.seek(12)
    made = made_again(held)
    assert made.tell() == 12 and made.read(4) == held.read(4)
    assert "may write" in reason(pyarrow.memory_map(tokens, "r+"))
    held.close()
    assert "is closed" in reason(held)
    assert "(a OSFile)" in reason(pyarrow.OSFile(tokens))


def test_connections_to_sqlite_stay(tmp_path):
    """They would be told by PRAGMA but for collations, which may be replaced under their names."""
    with contextlib.closing(sqlite3.connect(tmp_path / "rows.db")) as held:
        why = "of SQLite, which does not tell what the program has set on it"
        assert reason(held) == f"is a connection {why}"
        assert reason(held.cursor()) == f"is a cursor {why}"


def test_open_files_stay(tokens):
    with open(tokens, "rb") as file:
        assert reason(file) == "is an open file"
