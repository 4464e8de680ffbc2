"""Several hosts on this machine that reach each other by ssh: network namespaces on one bridge, each with its
own name, processes, home, run-time directory and sshd."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.headrace_program import wait_for

# Belongs to this test process alone: several run at the same time.
_NET = f"10.{150 + os.getpid() // 250 % 50}.{os.getpid() % 250}"
_SSHD = """
Port 22
ListenAddress {address}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/key.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
SetEnv XDG_RUNTIME_DIR=/run/headrace
Subsystem sftp internal-sftp
"""
_SSH = """
Host *
  IdentityFile {folder}/key
  UserKnownHostsFile {folder}/known_hosts
  StrictHostKeyChecking accept-new
  BatchMode yes
  LogLevel ERROR
"""
# What a host has to itself. /root is its home: sshd and ssh ask the system's list of users for it.
_ENTER = """
set -e
hostname {name}
mount --bind {folder}/home /root
mount --bind {hosts} /etc/hosts
mount -t tmpfs -o mode=755 none /run
mkdir -m 700 /run/sshd /run/headrace
cd /root
exec "$@"
"""


@dataclass
class Host:
    name: str
    namespace: str
    folder: Path
    hosts: Path

    @property
    def home(self) -> Path:
        return self.folder / "home"

    def command(self, *words: str | Path) -> list[str | Path]:
        """Runs a command on it: as root, in its home. All processes end with it."""
        enter = _ENTER.format(name=self.name, folder=self.folder, hosts=self.hosts)
        own = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return ["ip", "netns", "exec", self.namespace, *own, "bash", "-c", enter, "enter", *words]


def _run(*words: str | Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{words}: {done.stderr.strip()}")


@contextlib.contextmanager
def ssh_hosts(folder: Path, *names: str) -> Iterator[list[Host]]:
    """Hosts of these names. Skips the test where they cannot be made."""
    lacking = [name for name in ("ip", "unshare", "ssh", "ssh-keygen") if not shutil.which(name)]
    if os.geteuid() != 0 or lacking or not Path("/usr/sbin/sshd").exists():
        pytest.skip("needs root, iproute2, openssh-client and openssh-server to make hosts")
    folder.mkdir()
    names_file = folder / "hosts"
    addresses = {name: f"{_NET}.{number}" for number, name in enumerate(names, 1)}
    names_file.write_text(
        "127.0.0.1 localhost\n" + "".join(f"{at} {name}\n" for name, at in addresses.items())
    )
    made = [Host(n, f"hr{os.getpid()}-{n}", folder / n, names_file) for n in names]
    with contextlib.ExitStack() as stack:
        for host in made:
            (host.home / ".ssh").mkdir(parents=True)
            (host.home / ".ssh").chmod(0o700)
            (host.home / ".ssh" / "config").write_text(_SSH.format(folder=folder))
            try:
                _run("ip", "netns", "add", host.namespace)
            except OSError as error:
                pytest.skip(f"this kernel gives us no network namespace: {error}")
            stack.callback(_run, "ip", "netns", "del", host.namespace)
        for key in ("key", "host_key"):
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key)
        _join(made, list(addresses.values()))
        for host, address in zip(made, addresses.values(), strict=True):
            settings = host.folder / "sshd_config"
            settings.write_text(_SSHD.format(address=address, folder=folder))
            with open(host.folder / "sshd.log", "wb") as log:
                words = host.command("/usr/sbin/sshd", "-D", "-e", "-f", settings)
                daemon = subprocess.Popen(words, stderr=log, stdin=subprocess.DEVNULL)
            stack.callback(_end, daemon)
            said = host.folder / "sshd.log"
            wait_for(lambda said=said: "listening" in said.read_text(), f"sshd: {said}")
        yield made


def _join(made: list[Host], addresses: list[str]) -> None:
    """A bridge in the first one's namespace, with a virtual cable to each of the others."""
    first = made[0].namespace
    _run("ip", "-n", first, "link", "add", "br0", "type", "bridge")
    _run("ip", "-n", first, "addr", "add", f"{addresses[0]}/24", "dev", "br0")
    for number, (host, address) in enumerate(zip(made[1:], addresses[1:], strict=True)):
        cable = f"cable{number}"
        peer = ["type", "veth", "peer", "name", "eth0", "netns", host.namespace]
        _run("ip", "-n", first, "link", "add", cable, *peer)
        _run("ip", "-n", first, "link", "set", cable, "master", "br0", "up")
        _run("ip", "-n", host.namespace, "addr", "add", f"{address}/24", "dev", "eth0")
        _run("ip", "-n", host.namespace, "link", "set", "eth0", "up")
    _run("ip", "-n", first, "link", "set", "br0", "up")
    for host in made:
        _run("ip", "-n", host.namespace, "link", "set", "lo", "up")


def _end(daemon: subprocess.Popen[bytes]) -> None:
    daemon.kill()  # `unshare`; the kernel ends all that is below it
    daemon.wait()
