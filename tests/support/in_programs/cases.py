"""For programs that are made of cases: each case runs in a process of its own, forked from this one,
which has imported everything.

    from cases import case, main

    @case()
    def dtype():
        torch.set_default_dtype(torch.float64)
        epochs(DataLoader(Own(), 4, num_workers=2))

    if __name__ == "__main__":
        main()

A case is a function, or a class whose `run` method is called on a new instance. It begins with the
generators seeded (bits.SEED), in an empty folder of its own. `python FILE OUT NAME...` writes NAME.out
and NAME.err into OUT. A case that does not end within LIMIT seconds is killed, and its output says so.
"""

import atexit
import os
import select
import shutil
import signal
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bits
from torch.utils.data import DataLoader, Dataset

LIMIT = 60.0
_CASES: dict[str, Any] = {}


def case(**_: Any) -> Callable[[Any], Any]:
    """The arguments are for the test, which reads them from the text (support.both_cases):
    `workers=2` runs it with two workers, too; `hosts=2` with two hosts; `always=True` by default,
    where most are left out."""

    def keep(thing: Any) -> Any:
        _CASES[thing.__name__] = thing
        return thing

    return keep


def photos() -> Path:
    """Small photographs in folders of their classes. Shared: a case that changes some copies them
    (`own_photos`)."""
    return Path(os.environ["BITS_PHOTOS"])


def own_photos(name: str = "photos") -> Path:
    return Path(shutil.copytree(photos(), name)).absolute()


class Look(Dataset):
    """Samples that show what `look(index)` finds where they are made."""

    def __init__(self, look: Callable[[int], Any], length: int = 8) -> None:
        self.look, self.length = look, length

    def __len__(self) -> int:
        return self.length

    def __getitem__(self, index: int) -> tuple[int, Any]:
        return index, self.look(index)


def looked(look: Callable[[int], Any], count: int = 1, *, before: Any = None, **named: Any) -> None:
    """Epochs of such a data set, made by two workers unless `named`, the loader's, says otherwise."""
    named = {"batch_size": 2, "num_workers": 2, **named}
    bits.epochs(DataLoader(Look(look), **named), count, before=before)


def main() -> None:
    out = Path(sys.argv[1])
    for name in sys.argv[2:]:
        pid = os.fork()
        if pid == 0:
            _begin(out, name)
            thing, code = _CASES[name], 0
            try:
                thing().run() if isinstance(thing, type) else thing()
            except SystemExit as error:
                code = error.code
            except BaseException as error:
                bits.tell_error(error)
                code = 1
            _end(code)
        _await(pid, out / f"{name}.out")


def _begin(out: Path, name: str) -> None:
    os.setsid()  # what it leaves can be killed with it
    for number, path in ((0, os.devnull), (1, out / f"{name}.out"), (2, out / f"{name}.err")):
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        os.dup2(file, number)
        os.close(file)
    folder = out / name
    folder.mkdir()
    os.chdir(folder)
    os.environ["BITS_FOLDER"] = str(folder)
    if "HEADRACE_REPORT" in os.environ:
        os.environ["HEADRACE_REPORT"] = str(out / f"{name}.report.json")
    sys.argv = [sys.argv[0], name]
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # of a terminal, not of a background job
    bits.seed_all()


def _end(code: Any) -> None:
    """Ends as a program does: threads are joined, exit functions run. Only the modules are not
    taken down, which would take a second with torch."""
    threading._shutdown()
    atexit._run_exitfuncs()
    bits.flush()
    os._exit(code if isinstance(code, int) else 0 if code is None else 1)


def _await(pid: int, output: Path) -> None:
    """Waits for its end, and tells how it ended: part of what a program shows."""
    handle = os.pidfd_open(pid)
    in_time = select.select([handle], [], [], LIMIT)[0]
    os.close(handle)
    if not in_time:
        os.kill(pid, signal.SIGKILL)
    _, status = os.waitpid(pid, 0)
    try:
        os.killpg(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    end = (
        f"ended {os.waitstatus_to_exitcode(status)}" if in_time else f"no end within {LIMIT:.0f} s"
    )
    with open(output, "a") as file:
        file.write(f"{end}\n")
