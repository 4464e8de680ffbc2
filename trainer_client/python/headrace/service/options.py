"""The settings of a process, from the HEADRACE_* environment that `headrace run` sets."""

import os
import re
import shutil
import socket
import sys
from collections.abc import Mapping
from typing import Any

from ..errors import OptionError
from ..records import dataclass

_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30, "T": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)(?:i?B)?", re.IGNORECASE)

RNG_MODES = ("auto", "torch", "sample")
ON_DIFFERENCE = ("raise", "warn")
NO_WORKERS = ("local", "wait", "fail")
ON_BAD_SAMPLE = ("raise", "skip", "substitute")
WIRE_FORMS = ("auto", "uint8", "as-made")


@dataclass(frozen=True)
class Options:
    coordinator: str = ""  # empty: a private one with local workers
    keys: str = ""  # directory of keys for that coordinator; empty: none
    workers: int = 1  # local workers, or workers wanted of the coordinator (0: all)
    threads: int = 0  # compute threads of the local workers together; 0: usable CPUs
    cache_bytes: int | None = None  # of the local workers together; None: they find out
    local_worker: bool = True  # with a coordinator: a worker on this host, too
    memory_bytes: int = 16 << 30  # bound of one loader's memory for batches
    tenant: str = ""  # whose weight and quota count; empty: the default one
    priority: int = 0  # a higher one is served first
    group: str = ""  # ranks of one program have the same; empty: alone
    rank: int = -1  # in the group
    link: int = 0  # bytes/s that this host's network carries each way; 0: no limit is known
    rack: str = ""  # hosts of one rack have the same; empty: not known
    report: str = ""
    rng: str = "auto"
    # One batch in this many is compared: of native plans, samples with the dataset's own, of code
    # elsewhere, with the same batch made on this host; 0: none.
    compare: int = 256
    on_difference: str = "raise"  # in next(), or "warn"
    # While no worker serves: the program makes samples itself, waits, or gets an error.
    no_workers: str = "local"
    # What is done where a sample can't be made, and after how many of them the program ends (-1: any).
    on_bad_sample: str = "raise"
    max_bad_samples: int = -1
    # Seconds for one sample; 0: any; -1: native_deadline for native ones, any for the program's code.
    sample_deadline: float = -1.0
    epochs: int = 0  # that the program trains in this run; 0: not known
    warm: bool = (
        False  # the program fills the cache of its first loader, and ends before its first batch
    )
    # Results of functions that nobody has declared may be kept, too (stage/found_calls.py).
    found_functions: bool = True
    wire: str = "auto"  # what crosses a network: "uint8", batches "as-made", or what costs less

    @property
    def native_deadline(self) -> float:
        """Native samples take milliseconds, and another worker or the trainer makes the same bits."""
        return 60.0 if self.sample_deadline < 0 else self.sample_deadline

    @property
    def code_deadline(self) -> float:
        """The stock loader waits for the program's code as long as it takes."""
        return max(0.0, self.sample_deadline)


def is_off(environ: Mapping[str, str] = os.environ) -> bool:
    """HEADRACE=off: the program runs as if Headrace were not there."""
    return environ.get("HEADRACE", "").strip().lower() in ("off", "0", "no", "false")


def parse_size(text: str) -> int:
    """'2G', '512 MiB', '1000' -> bytes (units of 1024)."""
    match = _SIZE.fullmatch(text.strip())
    if match is None:
        raise ValueError(text)
    return int(float(match[1]) * _UNITS[match[2].upper()])


# The environment and what it says, as of the last question.
_latest: tuple[Any, Options] | None = None


def from_environment(environ: Mapping[str, str] = os.environ) -> Options:
    """Raises OptionError. Asked ten times at each iter(), so an environment that is as it was is not read again."""
    global _latest
    if environ is not os.environ:
        return _read(environ)
    now = getattr(os.environ, "_data", None)  # the plain dict that CPython keeps it in
    latest = _latest
    if latest is not None and now is not None and latest[0] == now:
        return latest[1]
    kept = None if now is None else dict(now)  # first: another thread may set something meanwhile
    found = _read(environ)
    _latest = kept, found
    return found


def _read(environ: Mapping[str, str]) -> Options:
    coordinator = environ.get("HEADRACE_COORDINATOR", "")
    if coordinator and not coordinator.startswith(("tcp://", "ipc://")):
        raise OptionError(
            f"HEADRACE_COORDINATOR={coordinator!r} is not an address: "
            "write tcp://HOST:PORT or ipc:///PATH"
        )
    group, rank = _group(environ)
    return Options(
        coordinator=coordinator,
        keys=environ.get("HEADRACE_KEYS", ""),
        workers=_count(environ, "HEADRACE_WORKERS", 0 if coordinator else 1),
        threads=_count(environ, "HEADRACE_THREADS", 0),
        cache_bytes=_cache(environ),
        memory_bytes=_size(environ, "HEADRACE_MEMORY", Options.memory_bytes),
        local_worker=_switch(environ, "HEADRACE_LOCAL_WORKER", True),
        tenant=environ.get("HEADRACE_TENANT", ""),
        priority=_integer(environ, "HEADRACE_PRIORITY", 0),
        group=group,
        rank=rank,
        link=_size(environ, "HEADRACE_LINK", 0),
        rack=environ.get("HEADRACE_RACK", ""),
        report=environ.get("HEADRACE_REPORT", ""),
        rng=_one_of(environ, "HEADRACE_RNG", RNG_MODES, Options.rng),
        compare=_count(environ, "HEADRACE_COMPARE", Options.compare),
        on_difference=_one_of(
            environ, "HEADRACE_ON_DIFFERENCE", ON_DIFFERENCE, Options.on_difference
        ),
        no_workers=_one_of(environ, "HEADRACE_NO_WORKERS", NO_WORKERS, Options.no_workers),
        on_bad_sample=_one_of(
            environ, "HEADRACE_ON_BAD_SAMPLE", ON_BAD_SAMPLE, Options.on_bad_sample
        ),
        max_bad_samples=_count(environ, "HEADRACE_MAX_BAD_SAMPLES", Options.max_bad_samples),
        sample_deadline=_seconds(environ, "HEADRACE_SAMPLE_DEADLINE", Options.sample_deadline),
        epochs=_count(environ, "HEADRACE_EPOCHS", Options.epochs),
        warm=_switch(environ, "HEADRACE_WARM", False),
        found_functions=_switch(environ, "HEADRACE_FOUND_FUNCTIONS", True),
        wire=_one_of(environ, "HEADRACE_WIRE", WIRE_FORMS, Options.wire),
    )


_connected = False


def keep_now() -> None:
    """Called with the first connection: what the settings of a service are can't change any more."""
    global _connected
    _connected = True


def set_environment(**settings: int | str | None) -> None:
    """Sets HEADRACE_NAME for each setting that is not None, or none of them. Raises OptionError."""
    wanted = {
        f"HEADRACE_{name.upper()}": str(value)
        for name, value in settings.items()
        if value is not None
    }
    changed = {name: text for name, text in wanted.items() if os.environ.get(name, "") != text}
    if changed and _connected:
        raise OptionError(
            f"{', '.join(sorted(changed))}: this process is served already; call install() with these "
            "options before its first loader is used"
        )
    from_environment({**os.environ, **wanted})
    os.environ.update(wanted)


def _group(environ: Mapping[str, str]) -> tuple[str, int]:
    """What the ranks of one program have in common, and which of them this is.

    The address at which torch.distributed's ranks meet is theirs alone while they run. Where it is
    loopback, this is so on their own host only: launchers of one host take 127.0.0.1:29500.
    """
    world, rank = environ.get("WORLD_SIZE", ""), environ.get("RANK", "")
    if not (world.isdecimal() and rank.isdecimal() and int(world) > 1):
        return "", -1
    address = environ.get("MASTER_ADDR", "")
    meeting = [environ.get("TORCHELASTIC_RUN_ID", ""), address, environ.get("MASTER_PORT", "")]
    if address in ("", "localhost", "::1") or address.startswith("127."):
        meeting.append(_this_host())
    return "/".join(meeting), int(rank)


def _one_of(environ: Mapping[str, str], name: str, known: tuple[str, ...], default: str) -> str:
    text = environ.get(name, "") or default
    if text not in known:
        raise OptionError(f"{name}={text!r}: write one of {', '.join(known)}")
    return text


def _switch(environ: Mapping[str, str], name: str, default: bool) -> bool:
    text = environ.get(name, "").strip().lower()
    if not text:
        return default
    if text not in ("on", "off"):
        raise OptionError(f"{name}={text!r}: write on or off")
    return text == "on"


def _this_host() -> str:
    """Another text on each host and in each container with a name of its own."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            boot = file.read().strip()
    except OSError:
        boot = ""
    return f"{socket.gethostname()}/{boot}"


def _integer(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "")
    if not text:
        return default
    try:
        return int(text)
    except ValueError:
        raise OptionError(f"{name}={text!r} is not a whole number") from None


def _count(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "")
    if not text:
        return default
    if not text.isdecimal():
        raise OptionError(f"{name}={text!r} is not a count: write a number, 0 or more")
    return int(text)


def _seconds(environ: Mapping[str, str], name: str, default: float) -> float:
    text = environ.get(name, "")
    if not text:
        return default
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1.0
    if not 0 <= seconds < 1e9:
        raise OptionError(f"{name}={text!r} is no time: write a number of seconds, 0 for none")
    return seconds


def _size(environ: Mapping[str, str], name: str, default: int) -> int:
    text = environ.get(name, "")
    if not text:
        return default
    try:
        return parse_size(text)
    except ValueError:
        raise OptionError(f"{name}={text!r} is not a size: write 2G, 512M ...") from None


def _cache(environ: Mapping[str, str]) -> int | None:
    name = "HEADRACE_CACHE"
    text = environ.get(name, "").strip()
    if text in ("", "auto"):
        return None
    try:
        return parse_size(text)
    except ValueError:
        raise OptionError(f"{name}={text!r} is not a size: write 2G, 512M ..., or auto") from None


def find_binary(environ: Mapping[str, str] = os.environ) -> str:
    """Path of the `headrace` program: set, in this package (a portable wheel has it there), beside the
    interpreter, or on PATH. Empty: none."""
    configured = environ.get("HEADRACE_BINARY", "")
    if configured:
        return configured
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    inside = os.path.join(package, "bin", "headrace")
    if os.access(inside, os.X_OK):
        return inside
    beside = os.path.join(os.path.dirname(sys.executable), "headrace")
    if os.access(beside, os.X_OK):
        return beside
    return shutil.which("headrace") or ""
