"""Libraries that read files: sound, databases, archives; and expressions of the library regex.

Each sample, or a data set when it first reads, opens with these: what they give follows from the file and
from how it is opened. A handle that may write is refused.
"""

import sys
import zipfile
from typing import Any

from ..arguments import Arguments
from ..frames import Frame
from ..interpreter import Interpreter
from ..proof import Code, Doubt
from ..values import Value, constant_of
from .entry import FRESH, SCALAR, Entry, apply, check_mode


def _environment(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    """lmdb.open, which creates and writes unless it is told that it may not."""
    readonly = constant_of(given.named["readonly"]) if "readonly" in given.named else ()
    if not readonly or readonly[0] is not True:
        raise Doubt(Code.OUTSIDE_EFFECT, "opens an LMDB environment that may write")
    return apply(it, frame, "lmdb.open", given, FRESH, thing)


def _hdf5(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    """h5py.File by its path; by other drivers it reads what another process may write meanwhile."""
    mode = given.at(1, "mode")
    if not mode and int(sys.modules["h5py"].__version__.partition(".")[0]) < 3:
        raise Doubt(Code.OUTSIDE_EFFECT, "calls h5py.File in a mode that may write")
    check_mode(mode, "h5py.File")
    following = constant_of(given.named["swmr"]) if "swmr" in given.named else (False,)
    if "driver" in given.named or given.more or len(given.args) > 2:
        raise Doubt(Code.UNKNOWN_CALL, "calls h5py.File with a driver of its own")
    if not following or following[0]:
        raise Doubt(Code.READS_OUTSIDE, "calls h5py.File to follow what another process writes")
    return apply(it, frame, "h5py.File", given, FRESH, thing)


def _sound_info(it: Interpreter, frame: Frame, thing: Any, given: Arguments) -> Value:
    cls = getattr(sys.modules["soundfile"], "_SoundFileInfo", None)
    return apply(it, frame, "soundfile.info", given, FRESH, cls)


ENTRIES = {
    "soundfile": [("read", Entry(FRESH)), ("info", Entry(special=_sound_info)),
                  ("available_formats available_subtypes", Entry(FRESH))],
    "lmdb": [("Environment", Entry(special=_environment))],
    "h5py": [("File", Entry(special=_hdf5))],
    "zipfile": [("ZipFile", Entry(FRESH, zipfile.ZipFile, mode=1))],
    "regex": [("match search fullmatch findall finditer split splititer sub subn compile escape",
               Entry(FRESH))],
    "html": [("escape unescape", Entry(SCALAR))],
}  # fmt: skip
