"""Sends what no release would send to a real coordinator and a real worker, while they serve a program.

From a seed: the frozen messages (schemas/golden) with bits, bytes and lengths changed, frames left out,
doubled or of other messages, messages that end in the middle, and bytes that are no ZMTP at all. Both
servers must live on, within bounded memory, and the program must get its batches as from the stock
loader.

    .venv/bin/python tests/fuzz/live.py --seconds 60 [--seed N]
"""

import argparse
import contextlib
import pathlib
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests")]

from support import zmtp  # noqa: E402
from support.headrace_program import (  # noqa: E402
    HEADRACE,
    clean_environment,
    free_port,
    ready_workers,
    running,
    wait_for,
    wait_for_answer,
)
from support.photos import write_jpegs  # noqa: E402

GOLDEN = sorted((ROOT / "schemas" / "golden" / "v1" / "messages").glob("*.bin"))
HEAD = 8  # bytes of a message's header
MOST_GROWTH_KB = 100_000
A_BURST = 40  # messages on one connection

PROGRAM = """
import hashlib, pathlib, sys, time
import torch
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as T

torch.manual_seed(3)
data = datasets.ImageFolder(sys.argv[1], T.Compose([T.RandomResizedCrop(32), T.ToTensor()]))
loader = DataLoader(data, 4, shuffle=True, num_workers=2, persistent_workers=True)
found = hashlib.sha256()
epochs, stop = int(sys.argv[2]), pathlib.Path(sys.argv[3])
epoch = 0
while epoch == 0 or epoch < epochs or not (epochs or stop.exists()):
    for images, labels in loader:
        found.update(images.numpy().tobytes() + labels.numpy().tobytes())
    epoch += 1
    time.sleep(0 if epochs else 0.1)  # the stock loader has to make as many
print(epoch, found.hexdigest())
"""


class Mutator:
    """Makes what is sent, from a seed."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.messages = [file.read_bytes() for file in GOLDEN]
        self.made = 0

    def stream(self) -> bytes:
        """What one connection says after its handshake."""
        rng = self.rng
        if rng.random() < 0.05:
            return rng.randbytes(rng.randrange(1, 4096))
        said = b"".join(self._message() for _ in range(rng.randrange(1, A_BURST)))
        if rng.random() < 0.1:
            said = self._changed(said)  # the framing, too
        if rng.random() < 0.1:
            said = said[: rng.randrange(len(said))]
        return said

    def _message(self) -> bytes:
        rng = self.rng
        self.made += 1
        whole = rng.choice(self.messages)
        frames = [whole[:HEAD], whole[HEAD:]]
        for _ in range(rng.randrange(3)):
            at = rng.randrange(len(frames))
            match rng.randrange(7):
                case 0 | 1 | 2:
                    frames[at] = self._changed(frames[at])
                case 3:
                    frames.insert(at, rng.choice(frames))
                case 4:
                    frames.append(rng.randbytes(rng.choice([0, 1, 100, 70_000])))
                case 5:
                    frames[at] = rng.choice(self.messages)[HEAD:]
                case _:
                    frames[at] = frames[at][: rng.randrange(len(frames[at]) + 1)]
        return zmtp.message(*frames)

    def _changed(self, data: bytes) -> bytes:
        rng = self.rng
        changed = bytearray(data)
        for _ in range(rng.choice([1, 1, 1, 2, 5, 30])):
            if not changed:
                break
            at = rng.randrange(len(changed))
            match rng.randrange(4):
                case 0:
                    changed[at] ^= 1 << rng.randrange(8)
                case 1:
                    changed[at] = rng.choice([0, 1, 0x7F, 0x80, 0xFE, 0xFF])
                case 2:
                    new = rng.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, rng.randrange(2**32)])
                    changed[at : at + 4] = new.to_bytes(4, "little")
                case _:
                    changed[at : at + rng.randrange(1, 16)] = rng.randbytes(rng.randrange(16))
        return bytes(changed)


def memory_kb(process: subprocess.Popen) -> int:
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1])


def say(port: int, said: bytes, shaken: bool) -> None:
    """On a connection of its own. The server may close it whenever it likes."""
    with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 10) as peer:
        peer.settimeout(10)
        peer.sendall((zmtp.HANDSHAKE if shaken else b"") + said)
        peer.shutdown(socket.SHUT_WR)
        while peer.recv(65536):
            pass


@contextlib.contextmanager
def training(photos: pathlib.Path, place: pathlib.Path, address: str) -> Iterator[subprocess.Popen]:
    """A program that trains all the while. It ends when the file `stop` is there."""
    words = [HEADRACE, "run", "--coordinator", address, "--"]
    program = [sys.executable, "-c", PROGRAM, str(photos), "0", str(place / "stop")]
    with subprocess.Popen(
        [*words, *program], env=clean_environment(), stdout=subprocess.PIPE, text=True
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def digest(photos: pathlib.Path, epochs: int) -> str:
    program = [sys.executable, "-c", PROGRAM, str(photos), str(epochs), "-"]
    done = subprocess.run(program, capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.split()[1]


def fuzz(seconds: float, seed: int, place: pathlib.Path) -> dict[str, int]:
    """How much was said. Raises where something is not as it must be."""
    mutator = Mutator(seed)
    photos = write_jpegs(place / "photos", 2, 24)
    ports = free_port(), free_port()
    address = f"tcp://127.0.0.1:{ports[0]}"
    counts = {"connections": 0, "messages": 0, "bytes": 0}
    with contextlib.ExitStack() as stack:
        servers = [
            stack.enter_context(
                running("coordinator", "--listen", address, log=place / "coordinator.log")
            )
        ]
        wait_for_answer(address)
        listen = f"tcp://127.0.0.1:{ports[1]}"
        servers.append(
            stack.enter_context(
                running(
                    *("worker", "--coordinator", address, "--listen", listen),
                    log=place / "worker.log",
                )
            )
        )
        wait_for(lambda: len(ready_workers(address)) == 1, "worker")
        program = stack.enter_context(training(photos, place, address))
        before = [memory_kb(server) for server in servers]
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            said = mutator.stream()
            say(mutator.rng.choice(ports), said, mutator.rng.random() > 0.03)
            counts["connections"] += 1
            counts["bytes"] += len(said)
            for server, name in zip(servers, ("coordinator", "worker"), strict=True):
                assert server.poll() is None, f"the {name} ended, seed {seed}"
        counts["messages"] = mutator.made
        (place / "stop").touch()
        told, _ = program.communicate(timeout=120)
        assert program.returncode == 0, f"the program failed, seed {seed}"
        epochs, found = told.split()
        counts["epochs"] = int(epochs)
        assert found == digest(photos, int(epochs)), f"other batches, seed {seed}"
        assert len(ready_workers(address)) >= 1, "it answers, and knows its worker"
        for name, was, server in zip(("coordinator", "worker"), before, servers, strict=True):
            counts[f"{name}_grew_kb"] = memory_kb(server) - was
            assert memory_kb(server) - was < MOST_GROWTH_KB, f"memory of the {name}, seed {seed}"
    for name in ("coordinator", "worker"):
        lines = (place / f"{name}.log").read_text().splitlines()
        counts[f"{name}_log_lines"] = len(lines)
        assert len(lines) < 20 + 4 * seconds, f"the log of the {name} is flooded, seed {seed}"
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    args = parser.parse_args()
    print(f"HEADRACE_TEST_SEED={args.seed}", file=sys.stderr, flush=True)
    place = pathlib.Path(tempfile.mkdtemp(prefix="live-"))
    print(fuzz(args.seconds, args.seed, place))


if __name__ == "__main__":
    main()
