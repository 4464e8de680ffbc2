"""The first hour of docs/operate.md on three machines, and docs/start.md on one, from the install on."""

import os
import shutil
import subprocess
import time
from pathlib import Path

from support import start_page
from support.headrace_program import clean_environment
from support.operate_page import (
    LONG,
    TRAIN,
    Part,
    check_first_hour,
    first_hour_on_three_machines,
    write_photos,
    write_python,
)
from support.ssh_hosts import Host, Root, ssh_hosts

# What the page takes for granted.
_INSTALL = """set -e
python3 -m venv ~/headrace
~/headrace/bin/pip install -q ~/headrace-*.whl
export PATH=~/programs:$PATH:~/headrace/bin
"""
PATIENCE = 900  # seconds: of a machine that does much else


def first_hour(
    folder: Path, wheel: Path, packages: Path, python: str, root: Root | None = None
) -> dict[int, Part]:
    """All of it, by the page's own commands. `packages`: where pip finds what the wheel needs, since these
    hosts reach no registry. `python`: the program's own, as the hosts see it."""
    with ssh_hosts(folder / "hosts", "head", "node1", "node2", root=root) as hosts:
        for host in hosts:
            write_photos(host.home / "photos")
            _find_packages(host, packages)
        head = hosts[0]
        shutil.copy(wheel, head.home)
        write_python(head.home / "programs", python)
        (head.home / "train.py").write_text(TRAIN)
        (head.home / "long.py").write_text(LONG)
        for host in hosts:
            host.own_home()
        done = subprocess.run(
            head.command("bash", "-c", first_hour_on_three_machines()),
            env=_environment(root),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        written = sorted(folder.glob("hosts/*/home/*.log")) + [head.home / "long.err"]
        said = done.stdout + done.stderr
        said += "".join(f"{path}:\n{path.read_text()}" for path in written if path.exists())
        assert done.returncode == 0, said
        made = check_first_hour(done.stdout, said)
        held = subprocess.run(
            ["tar", "-tzf", head.home / "headrace-backup.tgz"], capture_output=True, text=True
        )
        assert "pool-keys/coordinator.key" in held.stdout, held.stdout
        return made


def tutorial(
    folder: Path, wheel: Path, packages: Path, python: str, root: Root | None = None
) -> float:
    """docs/start.md on one host, with Headrace in an environment of its own. Returns its seconds."""
    with ssh_hosts(folder / "hosts", "head", root=root) as (host,):
        _find_packages(host, packages)
        shutil.copy(wheel, host.home)
        write_python(host.home / "programs", python)
        start_page.write_program(host.home)
        host.own_home()
        begin = time.monotonic()
        done = subprocess.run(
            host.command("bash", "-c", _INSTALL + start_page.commands({})),
            env=_environment(root),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        start_page.check(host.home, done.stdout, done.stderr)
        return time.monotonic() - begin


def _find_packages(host: Host, packages: Path) -> None:
    settings = host.home / ".config" / "pip" / "pip.conf"
    settings.parent.mkdir(parents=True)
    settings.write_text(f"[global]\nno-index = true\nfind-links = {packages}\n")


def _environment(root: Root | None) -> dict[str, str]:
    mine = {"HOME": root.home if root else "/root", "XDG_RUNTIME_DIR": "/run/headrace"}
    if root is None:
        return clean_environment(**mine)
    # Nothing of this system, but for what the command that enters needs.
    path = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
    return {"PATH": path, "HEADRACE_LOCAL_WORKER": "off", "TERM": os.environ.get("TERM", "")} | mine
