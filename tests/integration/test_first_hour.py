"""docs/operate.md's first hour on three machines and docs/start.md, in fresh roots of several distributions, as
root and as any user: what a new user types there, from the install of the wheel on, and how long it takes.

The times of the last run stand in docs/operate.md; `-s` prints those of this one. A system takes about ten
minutes on two busy cores, most of them for its root."""

import pathlib
import shutil
import subprocess
import sys
import sysconfig
from dataclasses import dataclass

import pytest
from support.debian_root import debian_root, run_in, ubuntu_root
from support.operate_page import (
    CAPACITY,
    FIRST_JOB,
    INSTALL,
    KEYS,
    LOST_JOURNAL,
    MAINTENANCE,
    START,
    UPGRADE_COORDINATOR,
    UPGRADE_WORKERS,
)
from support.ssh_hosts import Root
from support.three_machines import first_hour, tutorial
from support.wheels import portable_wheel, wheels_of_others

pytestmark = pytest.mark.full

PACKAGES = pathlib.Path(sysconfig.get_path("purelib"))
# What the page says that the hosts have.
OF_THE_PAGE = ("python3", "python3-venv", "openssh-client", "openssh-server")
# An environment as `pip install torch torchvision` leaves it: nothing of ours, and no cloudpickle.
OF_TORCH = (
    *("torch", "functorch", "numpy", "PIL", "pillow", "sympy", "mpmath", "networkx", "jinja2"),
    *("markupsafe", "fsspec", "filelock", "typing_extensions"),
)


@dataclass(frozen=True)
class Release:
    suite: str
    python: str  # as pip counts versions
    of_torch: tuple[str, ...] = ()  # its own packages of it; else it is this checkout's
    ubuntu: bool = False


RELEASES = {
    "Debian 12": Release("bookworm", "3.11"),
    "Debian 13": Release("trixie", "3.13", ("python3-torch", "python3-torchvision")),
    "Ubuntu 24.04": Release("noble", "3.12", ubuntu=True),
    "Ubuntu 22.04": Release("jammy", "3.10", ubuntu=True),
}
# This system's interpreter, where it is another system's program's: it has torch there.
MINE = f"python3.{sys.version_info.minor}"
THE_OTHER_PYTHON = {
    pathlib.Path(sys.base_prefix, place, MINE): f"/usr/{place}/{MINE}" for place in ("bin", "lib")
}


@dataclass(frozen=True)
class System:
    """A root, and what the test's hosts get from this one."""

    name: str
    root: pathlib.Path
    wheel: pathlib.Path
    see: dict[pathlib.Path, str]
    python: str  # the program's


@pytest.fixture(scope="module", params=RELEASES)
def system(request, tmp_path_factory):
    release = RELEASES[request.param]
    folder = tmp_path_factory.mktemp(release.suite)
    yield equipped(request.param, release, new_root(release, folder), folder)
    shutil.rmtree(folder / "root")


def new_root(release, folder):
    if release.ubuntu:
        keyring = debian_root(
            "trixie", folder / "keyring", "ubuntu-archive-keyring", variant="extract"
        )
        keys = keyring / "usr/share/keyrings/ubuntu-archive-keyring.gpg"
        return ubuntu_root(release.suite, folder / "root", keys, *OF_THE_PAGE)
    return debian_root(
        release.suite, folder / "root", *OF_THE_PAGE, *release.of_torch, variant="apt"
    )


def equipped(name, release, root, folder):
    in_root(root, "/usr/sbin/useradd --create-home --shell /bin/bash --password '*' trainer")
    see = {packages(folder / "packages", release): "/wheels", PACKAGES: "/packages"}
    if release.python == MINE.removeprefix("python"):
        wheel, python = portable_wheel(), environment_with_torch(root, "python3")
    elif release.of_torch:
        wheel, python = wheels_of_others()[2], "/usr/bin/python3"
    else:
        # The page: a program of another Python has that version's wheel in its environment, too.
        _, older, stable = wheels_of_others()
        wheel = older if release.python == "3.10" else stable
        python = environment_with_torch(root, MINE, THE_OTHER_PYTHON)
        (site,) = root.glob("opt/program/lib/python3*/site-packages")
        pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target"]
        subprocess.run([*pip, site, portable_wheel()], check=True)
        (site / "cloudpickle").symlink_to("/packages/cloudpickle")
        see |= THE_OTHER_PYTHON
    return System(name, root, wheel, see, python)


def in_root(root, script, **see):
    done = run_in(root, "sh", "-ec", script, **see)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def environment_with_torch(root, python, see=None):
    """Its packages are links to this checkout's, which the hosts see."""
    names = [path.name for path in PACKAGES.iterdir() if path.name.startswith(OF_TORCH)]
    in_root(
        root,
        f"{python} -m venv --without-pip /opt/program; cd /opt/program/lib/python3*/site-packages\n"
        + "".join(f"ln -s /packages/{name} .\n" for name in names),
        see=see,
    )
    return "/opt/program/bin/python"


def packages(folder, release):
    """What pip finds, since the hosts reach no registry."""
    platforms = [f"manylinux_2_{minor}_x86_64" for minor in range(17, 36)] + [
        "manylinux2014_x86_64"
    ]
    words = [word for platform in (*platforms, "any") for word in ("--platform", platform)]
    words += ["--only-binary=:all:", "--python-version", release.python, "numpy", "cloudpickle"]
    pip = [sys.executable, "-m", "pip", "download", "-q", "-d", folder, *words]
    done = subprocess.run(pip, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


def as_user(system, user):
    if user == "root":
        return Root(system.root, see=system.see)
    uid = int(in_root(system.root, f"id -u {user}"))
    return Root(system.root, user, uid, f"/home/{user}", system.see)


@pytest.mark.parametrize("user", ["root", "trainer"])
def test_the_first_hour(system, user, tmp_path):
    root = as_user(system, user)
    made = first_hour(tmp_path, system.wheel, pathlib.Path("/wheels"), system.python, root)
    shutil.rmtree(tmp_path / "hosts")  # three environments
    steps = {
        "install": made[INSTALL].seconds,
        "keys": made[KEYS].seconds,
        "coordinator, workers, doctor": made[START].seconds,
        "first job": made[FIRST_JOB].seconds,
        "maintenance": made[MAINTENANCE].seconds,
        "upgrade": made[UPGRADE_COORDINATOR].seconds + made[UPGRADE_WORKERS].seconds,
        "capacity": made[CAPACITY].seconds,
        "lost journal": made[LOST_JOURNAL].seconds,
    }
    print(f"\n{system.name}, {user}: " + ", ".join(f"{n} {s:.1f} s" for n, s in steps.items()))
    assert sum(steps.values()) < 3600


def test_the_tutorial(system, tmp_path):
    root = as_user(system, "trainer")
    took = tutorial(tmp_path, system.wheel, pathlib.Path("/wheels"), system.python, root)
    shutil.rmtree(tmp_path / "hosts")
    print(f"\n{system.name}, trainer: install and docs/start.md {took:.1f} s")
