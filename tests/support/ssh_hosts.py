"""Several hosts on this machine that reach each other by ssh: network namespaces on one bridge, each with its
own name, processes, home, run-time directory and sshd. They have this system's files, or those of a root of
another release."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.headrace_program import wait_for

# Belongs to this test process alone: several run at the same time.
_NET = f"10.{150 + os.getpid() // 250 % 50}.{os.getpid() % 250}"
_SSHD = """
Port 22
ListenAddress {address}
HostKey {keys}/host_key
AuthorizedKeysFile {keys}/key.pub
PermitRootLogin yes
StrictModes no
UsePAM no
PidFile none
SetEnv XDG_RUNTIME_DIR=/run/headrace
Subsystem sftp internal-sftp
"""
_SSH = """
Host *
  IdentityFile {keys}/key
  UserKnownHostsFile ~/.ssh/known_hosts
  StrictHostKeyChecking accept-new
  BatchMode yes
  LogLevel ERROR
"""
# What a host has to itself. /root is its home here: sshd and ssh ask the system's list of users for it.
_OWN = """
set -e
hostname {name}
mount --bind {home} /root
mount --bind {names} /etc/hosts
mount -t tmpfs -o mode=755 none /run
mkdir -m 700 /run/sshd /run/headrace
cd /root
exec "$@"
"""
_OF_A_ROOT = """
set -e
hostname {name}
mount -t proc none {tree}/proc
mount -t tmpfs -o mode=755 none {tree}/run
mkdir -m 700 {tree}/run/sshd
install -d -m 700 -o {uid} -g {uid} {tree}/run/headrace
exec chroot --userspec={user}:{group} {tree} bash -c 'cd; exec "$@"' enter "$@"
"""


@dataclass(frozen=True)
class Root:
    """A root of another release, with openssh. `user`: whose home the hosts have, root or one of the
    root's users. `see`: folders of this system, and where they are there, read-only."""

    folder: Path
    user: str = "root"
    uid: int = 0
    home: str = "/root"
    see: Mapping[Path, str] | None = None


@dataclass
class Host:
    name: str
    namespace: str
    folder: Path
    names: Path  # the file of all hosts' names
    root: Root | None = None

    @property
    def home(self) -> Path:
        return self.folder / "home"

    @property
    def tree(self) -> Path:
        """The root's files, as this host has changed them."""
        return self.folder / "tree"

    def own_home(self) -> None:
        """Gives all that the test has written there to the user."""
        uid = self.root.uid if self.root else 0
        _run("chown", "-R", f"{uid}:{uid}", self.home)

    def command(self, *words: str | Path, user: str = "") -> list[str | Path]:
        """Runs a command on it, in the home. All processes end with it. `user`: by default the one whose
        home it is."""
        if self.root is None:
            enter = _OWN.format(name=self.name, home=self.home, names=self.names)
        else:
            who = user or self.root.user
            enter = _OF_A_ROOT.format(
                name=self.name, tree=self.tree, uid=self.root.uid, user=who, group=who
            )
        own = ["unshare", "--mount", "--uts", "--pid", "--fork", "--kill-child", "--mount-proc"]
        return ["ip", "netns", "exec", self.namespace, *own, "bash", "-c", enter, "enter", *words]


def _run(*words: str | Path) -> None:
    done = subprocess.run(words, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(f"{words}: {done.stderr.strip()}")


@contextlib.contextmanager
def ssh_hosts(folder: Path, *names: str, root: Root | None = None) -> Iterator[list[Host]]:
    """Hosts of these names. Skips the test where they cannot be made."""
    lacking = [name for name in ("ip", "unshare", "ssh", "ssh-keygen") if not shutil.which(name)]
    if os.geteuid() != 0 or lacking or not Path("/usr/sbin/sshd").exists():
        pytest.skip("needs root, iproute2, openssh-client and openssh-server to make hosts")
    keys = folder / "keys"
    keys.mkdir(parents=True)
    names_file = folder / "hosts"
    addresses = {name: f"{_NET}.{number}" for number, name in enumerate(names, 1)}
    names_file.write_text(
        "127.0.0.1 localhost\n" + "".join(f"{at} {name}\n" for name, at in addresses.items())
    )
    made = [Host(n, f"hr{os.getpid()}-{n}", folder / n, names_file, root) for n in names]
    with contextlib.ExitStack() as stack:
        for key in ("key", "host_key"):
            _run("ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / key)
        for host in made:
            (host.home / ".ssh").mkdir(parents=True)
            (host.home / ".ssh").chmod(0o700)
            (host.home / ".ssh" / "config").write_text(_SSH.format(keys=keys))
            if root is not None:
                _lay_out(host, root, keys, stack)
            try:
                _run("ip", "netns", "add", host.namespace)
            except OSError as error:
                pytest.skip(f"this kernel gives us no network namespace: {error}")
            stack.callback(_run, "ip", "netns", "del", host.namespace)
        _join(made, list(addresses.values()))
        for host, address in zip(made, addresses.values(), strict=True):
            settings = keys / f"sshd_config_{host.name}"
            settings.write_text(_SSHD.format(address=address, keys=keys))
            with open(host.folder / "sshd.log", "wb") as log:
                words = host.command("/usr/sbin/sshd", "-D", "-e", "-f", settings, user="root")
                daemon = subprocess.Popen(words, stderr=log, stdin=subprocess.DEVNULL)
            stack.callback(_end, daemon)
            said = host.folder / "sshd.log"
            wait_for(lambda said=said: "listening" in said.read_text(), f"sshd: {said}")
        yield made


def _lay_out(host: Host, root: Root, keys: Path, stack: contextlib.ExitStack) -> None:
    """The host's own layer above the root, with its home, and the keys at the path that they have here."""
    layers = [host.folder / name for name in ("upper", "layer")]
    for place in (*layers, host.tree):
        place.mkdir()
    words = f"lowerdir={root.folder},upperdir={layers[0]},workdir={layers[1]}"
    _run("mount", "-t", "overlay", "-o", words, "none", host.tree)
    stack.callback(_run, "umount", "--recursive", "--lazy", host.tree)
    _run("chown", "-R", f"{root.uid}:{root.uid}", host.home / ".ssh", host.home, keys / "key")
    binds = {host.home: root.home, host.names: "/etc/hosts", keys: str(keys), Path("/sys"): "/sys"}
    for here, there in {**binds, **(root.see or {})}.items():
        place = host.tree / there.lstrip("/")
        if here.is_dir():
            place.mkdir(parents=True, exist_ok=True)
        elif not place.exists():
            place.touch()
        read_only = ["-o", "ro"] if root.see and here in root.see else []
        _run("mount", "--rbind", *read_only, here, place)
    _run("mount", "--rbind", "/dev", host.tree / "dev")


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
