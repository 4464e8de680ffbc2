"""In place of an interpreter with Ray (coordinator/pool/ray/fake_ray.h): speaks as ray_helper.py does, and
its actors are processes of this host. What it does is told by files in a folder, where it also keeps who
there is, as a cluster would: fake_ray.py FOLDER -c TEXT-THAT-IS-IGNORED."""

import json
import os
import re
import selectors
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any


def alive(pid: int) -> bool:
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return text.rpartition(")")[2].split()[0] != "Z"


class Cluster:
    def __init__(self, folder: Path, settings: dict[str, Any]) -> None:
        self._folder, self._settings = folder, settings
        self._mine: set[str] = set()  # members of this pool
        self._children: list[subprocess.Popen[bytes]] = []

    def _file(self, name: str) -> Path:
        return self._folder / "actors" / name

    @property
    def behaviour(self) -> str:
        return (self._folder / "behaviour").read_text().strip()

    def say(self, kind: str, **event: Any) -> None:
        print(json.dumps({"is": kind} | event), flush=True)

    def begin(self) -> None:
        with open(self._folder / "settings.log", "a") as log:
            log.write(json.dumps(self._settings) + "\n")
        if self.behaviour == "down":
            self.say("trouble", why="no Ray cluster at auto: ConnectionError: Could not find any")
            sys.exit(1)
        prefix = self._settings["pool"] + "."
        self._mine = {one.name for one in self._file("").iterdir() if one.name.startswith(prefix)}
        self.say("listed", members=sorted(self._mine))
        for name in sorted(self._mine):
            if self._pid(name):
                self.say("running", name=name, node="n1")

    def _pid(self, name: str) -> int:
        return int(self._file(name).read_text())

    def obey(self, order: dict[str, str]) -> bool:
        with open(self._folder / "orders.log", "a") as log:
            log.write(json.dumps(order) + "\n")
        name = order.get("name", "")
        if order["do"] == "start":
            self._start(name)
        elif order["do"] == "stop":
            for one in list(self._mine):
                self._signal(one, signal.SIGTERM)
            return False
        else:
            self._signal(name, signal.SIGTERM if order["do"] == "term" else signal.SIGKILL)
        return True

    def _start(self, name: str) -> None:
        if self.behaviour == "forbid":
            return self.say("refused", name=name, why="ValueError: Invalid label selector")
        self._mine.add(name)
        self._file(name).write_text("0")
        self._begin_what_waits()
        if not self._pid(name):
            self.say("queued", name=name, why="Ray has no room: a worker wants CPU 1")

    def _begin_what_waits(self) -> None:
        running = sum(1 for name in self._mine if self._pid(name))
        most = {"queue": 0, "limit": int((self.behaviour.split() + ["0"])[1])}.get(
            self.behaviour.split()[0], 1000
        )
        for name in sorted(self._mine):
            if self._pid(name) or running >= most:
                continue
            command = [*self._settings["command"], "--pool-member", name]
            with open(self._folder / f"out.{name}", "wb") as out:
                child = subprocess.Popen(command, stdout=out, stderr=out, start_new_session=True)
            self._children.append(child)
            self._file(name).write_text(str(child.pid))
            running += 1
            self.say("running", name=name, node="n1")

    def _signal(self, name: str, number: int) -> None:
        if name not in self._mine:
            return
        if pid := self._pid(name):
            os.killpg(pid, number) if alive(pid) else None
        else:
            self._end(name, "it was taken back")

    def _end(self, name: str, how: str) -> None:
        self._mine.discard(name)
        self._file(name).unlink()
        self.say("ended", name=name, how=how, cpu=0.5)

    def look(self) -> None:
        if (self._folder / "end").exists():
            (self._folder / "end").unlink()
            os.kill(os.getpid(), signal.SIGKILL)
        for name in sorted(self._mine):
            leaving = self._folder / f"drain.{name}"
            if leaving.exists():
                leaving.unlink()
                self.say("leaving", name=name, why="its node is drained")
            if (pid := self._pid(name)) and not alive(pid):
                self._end(name, "ended with status 1: no key")
        for child in self._children:
            child.poll()
        self._begin_what_waits()


def main() -> None:
    folder = Path(sys.argv[1])
    size = re.search(r"read\((\d+)\)", sys.argv[3])
    assert size and sys.argv[2] == "-c", sys.argv
    text = b""
    while len(text) < int(size[1]):
        text += os.read(0, int(size[1]) - len(text))
    compile(text, "ray_helper.py", "exec")
    lines = b""
    cluster = None
    chosen = selectors.DefaultSelector()
    chosen.register(0, selectors.EVENT_READ)
    while True:
        if chosen.select(0.02):
            new = os.read(0, 65536)
            if not new:
                return
            lines += new
        *whole, lines = lines.split(b"\n")
        for line in whole:
            if cluster is None:
                cluster = Cluster(folder, json.loads(line))
                cluster.begin()
            elif not cluster.obey(json.loads(line)):
                time.sleep(0.05)
                return
        if cluster is not None:
            cluster.look()


main()
