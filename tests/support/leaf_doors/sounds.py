"""soundfile and librosa."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from support.leaf_doors.door import Door


def _write_sound(folder: Path, rng: Any) -> None:
    import soundfile

    sound = rng.uniform(-0.9, 0.9, (9000, 2))
    for name in ("a.flac", "a.ogg"):
        soundfile.write(folder / name, sound, 22050)
    soundfile.write(folder / "one.flac", sound[:, 0], 16000)
    (folder / "bad.flac").write_bytes((folder / "one.flac").read_bytes()[:3000])


def _read(folder: Path, name: str, **how: Any) -> Any:
    import soundfile

    return soundfile.read(folder / name, **how)


def _load(folder: Path, name: str, **how: Any) -> Any:
    import librosa

    return librosa.load(str(folder / name), **how)


def _open_sound(folder: Path) -> Any:
    import librosa

    with open(folder / "one.flac", "rb") as file:
        return librosa.load(file)


def _with(folder: Path, name: str, use: Callable[[Any], Any], *how: Any) -> Any:
    import soundfile

    with soundfile.SoundFile(str(folder / name), *how) as file:
        return use(file)


def _in_blocks(file: Any) -> Any:
    blocks = tuple(file.read(3000, dtype="float32") for _ in range(4))
    return *blocks, file.tell()


def _here_and_there(file: Any) -> Any:
    first = file.read(500)
    place = file.tell()
    second = file.read(100)
    file.seek(-300, 1)
    return first, place, second, file.tell(), file.read(dtype="int16"), file.closed


def _after_closing(file: Any) -> Any:
    file.read()
    file.close()
    return file.closed, file.read()


def _into(file: Any) -> Any:
    room = np.zeros((700, 2))
    return file.read(out=room) is room, room


SOUND = [
    Door(
        "soundfile.read", "soundfile", _write_sound,
        {
            "flac": lambda folder: _read(folder, "a.flac"),
            "ogg": lambda folder: _read(folder, "a.ogg", dtype="float32", always_2d=True),
            "part": lambda folder: _read(folder, "one.flac", start=50, frames=700),
        },
        {
            "bad": lambda folder: _read(folder, "bad.flac"),
            "out": lambda folder: _read(folder, "one.flac", out=np.zeros(9000)),
            "none": lambda folder: _read(folder, "none.flac"),
        },
        ("soundfile", "read"),
    ),
    Door(
        "soundfile.SoundFile", "soundfile", _write_sound,
        {
            "whole": lambda folder: _with(folder, "a.flac", lambda file: file.read()),
            "part": lambda folder: _with(folder, "a.flac", lambda file: (file.seek(70), file.read(200))),
            "blocks": lambda folder: _with(folder, "a.ogg", _in_blocks),
            "here and there": lambda folder: _with(folder, "a.ogg", _here_and_there),
            "closed": lambda folder: _with(folder, "one.flac", _after_closing),
        },
        {
            "into": lambda folder: _with(folder, "a.flac", _into),
            "filled": lambda folder: _with(
                folder, "one.flac", lambda file: file.read(9999, fill_value=7)
            ),
            "bad": lambda folder: _with(folder, "bad.flac", lambda file: file.read()),
            "wrong": lambda folder: _with(folder, "a.flac", lambda file: file.read(dtype="no such")),
            "none": lambda folder: _with(folder, "none.flac", lambda file: file.read()),
        },
        ("soundfile:SoundFile", "read"),
    ),
    Door(
        "librosa.load", "librosa", _write_sound,
        {
            "resampled": lambda folder: _load(folder, "one.flac"),
            "mixed": lambda folder: _load(folder, "a.ogg", sr=16000),
            "as it is": lambda folder: _load(folder, "a.flac", sr=None, mono=False),
            "stereo": lambda folder: _load(folder, "a.flac", sr=8000, mono=False, dtype=np.float64),
            "part": lambda folder: _load(folder, "one.flac", sr=8000, offset=0.1, duration=0.2),
        },
        {
            "bad": lambda folder: _load(folder, "bad.flac"),
            "stream": _open_sound,
            "none": lambda folder: _load(folder, "none.flac"),
            "way": lambda folder: _load(folder, "one.flac", res_type="no such"),
            "view of more": lambda folder: _load(folder, "one.flac", sr=8000, res_type="polyphase"),
        },
        ("librosa.core.audio", "load"),
    ),
]  # fmt: skip
