"""soundfile and librosa."""

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
