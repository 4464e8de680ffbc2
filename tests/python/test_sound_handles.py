"""Reads of open sound files: what a lane finds is what the decoder would make, and its file is closed as soundfile
closes it."""

import contextlib
import gc
import itertools
import os
import random
from pathlib import Path

import numpy as np
import pytest
from support.leaf_doors import keep_all, seen
from support.own_process import in_own_process

SEED = 20261130
RATE = 16000
# name, format, subtype: whether a read depends on what was read before
FORMATS = {
    "a.mp3": (None, None, True),
    "vorbis.ogg": ("OGG", "VORBIS", True),
    "opus.ogg": ("OGG", "OPUS", True),
    "ima.wav": ("WAV", "IMA_ADPCM", True),
    "ms.wav": ("WAV", "MS_ADPCM", True),
    "alac.caf": ("CAF", "ALAC_16", True),
    "a.flac": (None, None, False),
    "pcm.wav": ("WAV", "PCM_16", False),
    "float.w64": ("W64", "FLOAT", False),
    "a.aiff": ("AIFF", "PCM_24", False),
}
# What programs ask of one file, one after the other.
ASKS = (
    lambda file: file.read(5000, dtype="float32"),
    lambda file: file.read(3000, dtype="float32"),
    lambda file: file.read(30000),
    lambda file: file.read(700, dtype="int16"),
    lambda file: file.seek(5000),
    lambda file: file.seek(40000),
    lambda file: file.seek(0),
    lambda file: file.tell(),
    lambda file: list(file.blocks(2000, overlap=100, frames=6000)),
)
READ, READ_ON, FAR, _, SEEK, SEEK_FAR, *_ = ASKS
FIRST = ((READ, READ_ON), (SEEK, READ_ON), (FAR, SEEK_FAR, READ_ON), (SEEK_FAR, READ_ON))


def written(folder, names=tuple(FORMATS)):
    import soundfile

    rng = np.random.default_rng(SEED)
    for name in names:
        kind, subtype, _ = FORMATS[name]
        sound = rng.uniform(-0.9, 0.9, 60000)
        soundfile.write(folder / name, sound, RATE, format=kind, subtype=subtype)


def asked(path, asks):
    import soundfile

    with soundfile.SoundFile(path) as file:
        made = [ask(file) for ask in asks]
    return [
        [np.asarray(part).tobytes() for part in each]
        if isinstance(each, list)
        else np.asarray(each).tobytes()
        for each in made
    ]


@in_own_process
def test_what_is_found_is_what_its_decoder_makes_there(tmp_path):
    pytest.importorskip("soundfile")
    folder, rng = Path(tmp_path), random.Random(SEED)
    written(folder)
    drawn = [tuple(rng.choices(ASKS, k=rng.randint(2, 4))) for _ in range(12)]
    calls = list(itertools.product(FORMATS, (*FIRST, *drawn)))
    stock = {call: asked(str(folder / call[0]), call[1]) for call in calls}
    differ = [
        name
        for name in FORMATS
        for one, other in ((FIRST[0], FIRST[1]), (FIRST[2], FIRST[3]))
        if stock[name, one][-1] != stock[name, other][-1]
    ]
    assert {"a.mp3", "vorbis.ogg"} <= set(differ), "or this shows nothing"
    assert all(FORMATS[name][2] for name in differ), differ
    worker = keep_all()
    for lane in range(4):
        worker.lane()
        rng.shuffle(calls)  # whichever is kept first is found by the others
        for call in calls:
            assert asked(str(folder / call[0]), call[1]) == stock[call], (SEED, lane, call[0])
    assert worker.hits > len(calls)


@in_own_process
def test_the_first_read_of_any_format_is_found_and_later_ones_of_some(tmp_path):
    pytest.importorskip("soundfile")
    folder = Path(tmp_path)
    written(folder)
    worker = keep_all()
    for name, (_, _, remembers) in FORMATS.items():
        for asks, found in ((FIRST[0], 1 if remembers else 2), (FIRST[1], 0 if remembers else 1)):
            for _ in range(3):
                worker.lane()
                asked(str(folder / name), asks)
            worker.lane()
            hits = worker.hits
            asked(str(folder / name), asks)
            worker.lane()
            assert worker.hits - hits == found, (name, found)


@in_own_process
def test_parts_of_files_that_are_not_open_are_those_of_stock(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    folder, rng = Path(tmp_path), random.Random(SEED)
    written(folder)
    parts = [(rng.randrange(50000), rng.randrange(1, 9000)) for _ in range(4)]
    reads = [
        lambda name, start, size: soundfile.read(folder / name, start=start, frames=size)[0],
        lambda name, start, size: np.array(
            list(soundfile.blocks(folder / name, 500, start=start, frames=size // 500 * 500))
        ),
    ]
    try:
        import librosa

        seen(lambda: librosa.load(folder / "a.mp3"))  # what it imports late warns once
        reads.append(
            lambda name, start, size: librosa.load(
                folder / name, sr=None, offset=start / RATE, duration=size / RATE
            )[0]
        )
    except ImportError:
        pass  # its wheels are large
    calls = [(read, name, *part) for read in reads for name in FORMATS for part in parts]
    stock = {call: seen(lambda call=call: call[0](*call[1:])) for call in calls}
    worker = keep_all()
    for lane in range(3):
        worker.lane()
        rng.shuffle(calls)
        for call in calls:
            got = seen(lambda call=call: call[0](*call[1:]))
            assert got == stock[call], (SEED, lane, call[1:])
    assert worker.hits


@in_own_process
def test_a_file_that_nobody_holds_is_closed_at_once(tmp_path):
    soundfile = pytest.importorskip("soundfile")
    folder = Path(tmp_path)
    written(folder, ("a.flac", "vorbis.ogg"))
    worker = keep_all()
    gc.disable()
    for name in ("a.flac", "vorbis.ogg"):
        for _ in range(4):
            worker.lane()
            soundfile.SoundFile(folder / name).read()
        before, hits = len(os.listdir("/proc/self/fd")), worker.hits
        for _ in range(10):
            soundfile.SoundFile(folder / name).read()
        worker.lane()
        assert worker.hits >= hits + 10
        assert len(os.listdir("/proc/self/fd")) == before, name


@in_own_process
def test_what_a_decoder_says_is_said_each_time(tmp_path):
    """A file of which something was written to standard error is not kept."""
    soundfile = pytest.importorskip("soundfile")
    folder = Path(tmp_path)
    written(folder, ("a.mp3",))
    path, said, real = folder / "a.mp3", os.memfd_create("said"), os.dup(2)
    rng, whole = random.Random(SEED), path.read_bytes()

    def told(read):
        """Bytes that were written to standard error."""
        before = os.fstat(said).st_size
        os.dup2(said, 2)
        try:
            read()
        finally:
            os.dup2(real, 2)
        return os.fstat(said).st_size - before

    def by_handle():
        with soundfile.SoundFile(path) as sound:
            return len(sound.read()) == sound.frames

    for _ in range(300):  # what loses frames is not kept, whatever it says
        at = rng.randrange(len(whole) // 2, len(whole) - 400)
        path.write_bytes(whole[:at] + rng.randbytes(4) + whole[at + 4 :])
        with contextlib.suppress(soundfile.LibsndfileError):
            if told(by_handle) and by_handle():
                break
    worker, counts = keep_all(), []
    for _ in range(9):
        worker.lane()
        counts.append((told(lambda: soundfile.read(path)), told(by_handle)))
    assert min(counts[0]) > 0, "or this shows nothing"
    assert len(set(counts)) == 1, counts
