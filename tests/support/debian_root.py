"""Roots of Debian releases, made by mmdebstrap from the sources that apt has here; and of Ubuntu's, from
the archive that mmdebstrap knows."""

import os
import pathlib
import re
import shutil
import subprocess
from collections.abc import Iterable, Sequence

import pytest


def _sources(release: str) -> str:
    told = subprocess.run(
        ["apt-get", "indextargets", "--format", "deb $(SITE) $(CODENAME) $(COMPONENT)"]
        + ["Identifier: Packages", "Origin: Debian"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    here = re.search(r"^VERSION_CODENAME=(\w+)", pathlib.Path("/etc/os-release").read_text(), re.M)
    assert here is not None
    return told.replace(f" {here[1]}", f" {release}")


def debian_root(
    release: str, into: pathlib.Path, *packages: str, variant: str = "essential"
) -> pathlib.Path:
    """A new root with the packages of the variant and these. Skips the test where none can be made."""
    _needs_tools()
    sources = _sources(release)
    assert sources, "apt knows no source of Debian's"
    done = _made([release, into, "-"], packages, variant, sources)
    assert done.returncode == 0, done.stderr
    return into


def ubuntu_root(
    release: str, into: pathlib.Path, keyring: pathlib.Path, *packages: str
) -> pathlib.Path:
    """The same of Ubuntu, with apt. `keyring`: of its archive. Skips the test where the archive is not
    reached."""
    _needs_tools()
    words = [f"--keyring={keyring}", "--components=main,universe", release, into]
    done = _made(words, packages, "apt")
    if done.returncode != 0 and re.search(
        r"Failed to fetch|Could not (resolve|connect)", done.stderr
    ):
        pytest.skip(f"no archive of Ubuntu is reached: {done.stderr.strip().splitlines()[-1]}")
    assert done.returncode == 0, done.stderr
    return into


def _needs_tools() -> None:
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None or shutil.which("bwrap") is None:
        pytest.skip("needs root, mmdebstrap and bubblewrap to make a root of another release")


def _made(
    words: Sequence[str | pathlib.Path], packages: Iterable[str], variant: str, sources: str = ""
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["mmdebstrap", "--quiet", "--mode=root", f"--variant={variant}", "--format=directory"]
        + [f"--include={','.join(packages)}", '--aptopt=APT::Install-Recommends "false"']
        + ["--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*"]
        + list(map(str, words)),
        input=sources,
        capture_output=True,
        text=True,
        timeout=1200,
    )


def run_in(
    root: pathlib.Path, *words: str, see: dict[pathlib.Path, str] | None = None, **variables: str
) -> subprocess.CompletedProcess:
    """Runs a command in the root, without a network. `see`: folders of this host and where they are
    there, read-only. Its environment is `variables` alone."""
    binds = [word for here, there in (see or {}).items() for word in ("--ro-bind", here, there)]
    return subprocess.run(
        [
            "bwrap",
            "--bind",
            root,
            "/",
            "--proc",
            "/proc",
            "--dev",
            "/dev",
            "--tmpfs",
            "/tmp",
            *binds,
        ]
        + ["--unshare-pid", "--unshare-net", "--unshare-ipc", "--die-with-parent", "--clearenv"]
        + [word for pair in variables.items() for word in ("--setenv", *pair)]
        + ["--setenv", "PATH", "/usr/local/bin:/usr/bin:/bin", "--setenv", "HOME", "/root", *words],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=600,
    )
