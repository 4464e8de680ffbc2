"""Of single libraries whose results lanes keep, what the contract of all does not say (contract/test_leaf_doors.py)."""

import importlib.util
import sys
import types
from pathlib import Path

import numpy as np
import pytest
from support.leaf_doors import keep_all
from support.own_process import in_own_process

SEED = 20261130


@in_own_process
def test_a_library_that_is_imported_late_is_kept_too(tmp_path):
    if importlib.util.find_spec("soundfile") is None:
        pytest.skip("soundfile is not installed here")
    from headrace.stage import functions

    assert "soundfile" not in sys.modules
    keep_all()
    functions.look_again()
    import soundfile

    own, real = types.ModuleType("own"), soundfile.read
    own.__file__, own.read = "/own.py", real
    sys.modules["own"] = own
    functions.look_again()
    assert soundfile.read is not real and own.read is soundfile.read
    assert soundfile.read == real and hash(soundfile.read) == hash(real), "as libraries compare"


@in_own_process
def test_drawn_parts_of_a_packed_data_set_are_cut_out_of_all_of_it(tmp_path):
    h5py = pytest.importorskip("h5py")
    from headrace.stage import hdf5_files

    path, rng = Path(tmp_path) / "a.h5", np.random.default_rng(SEED)
    volume = rng.integers(0, 9, (24, 40, 40)).astype(np.float32)
    with h5py.File(path, "w") as file:
        file.create_dataset("a", data=volume, compression="gzip", chunks=(8, 20, 20))
    worker = keep_all()
    for lane in range(3):
        worker.lane(first=lane == 0)
        assert worker.entries == (lane == 2), "the first iteration may be the only one"
        with h5py.File(path, "r") as file:
            for _ in range(12):
                z, y, x = (int(rng.integers(0, size - 15)) for size in volume.shape)
                part = slice(z, z + 15), slice(y, y + 15), slice(x, None, 2)
                assert np.array_equal(file["a"][part], volume[part])
    worker.lane()
    assert worker.entries == 1 and worker.hits == 12, (worker.hits, worker.misses)
    assert hdf5_files._MOST >= volume.nbytes

    # Where another iteration is likely the first one does so too, and pays from its budget for the reading.
    worker, cpu = keep_all(), [0.0]
    kept = worker.lane(first=True, again=True, cpu=lambda: cpu[0])
    cpu[0] = 1000.0
    assert kept.first_iteration.invests(1e-6)
    with h5py.File(path, "r") as file:
        for _ in range(6):
            assert np.array_equal(file["a"][:15, :30, ::2], volume[:15, :30, ::2])
    assert not kept.first_iteration.invests(1e-6)
    worker.lane()
    assert worker.entries == 1


@in_own_process
def test_a_sound_file_that_is_written_while_it_is_open_is_read(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    path, rng = Path(tmp_path) / "a.wav", np.random.default_rng(SEED)
    sounds = [rng.uniform(-0.9, 0.9, 3000) for _ in range(2)]
    files = []
    for sound in sounds:
        soundfile.write(path, sound, 16000)
        files.append(path.read_bytes())
    path.write_bytes(files[0])
    worker = keep_all()
    for _ in range(4):  # kept, compared, compared, and found
        worker.lane()
        with soundfile.SoundFile(path) as sound:
            first = sound.read(dtype="int16").tolist()
    worker.lane()
    assert worker.hits == 3
    with soundfile.SoundFile(path) as sound:
        with open(path, "r+b") as file:
            file.write(files[1])
        assert sound.read(dtype="int16").tolist() != first


@in_own_process
def test_what_is_within_a_leaf_is_none_itself(tmp_path):
    from headrace.stage.leaf_arrays import FileLeaf

    path = Path(tmp_path) / "a.txt"
    np.savetxt(path, np.ones((3, 2)))
    worker, outer = keep_all(), FileLeaf("outer", lambda: "build", lambda: "")
    outer.make(worker.lane(), outer.wanted((path,), {}), np.loadtxt, (path,), {})
    worker.lane()
    assert worker.entries == 1 and worker.misses == 0, "it was not looked for"
