"""Roots of Debian releases, made by mmdebstrap from the sources that apt has here."""

import os
import pathlib
import re
import shutil
import subprocess

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


def debian_root(release: str, into: pathlib.Path, *packages: str) -> pathlib.Path:
    """A new root with the essential packages and these. Skips the test where none can be made."""
    if os.geteuid() != 0 or shutil.which("mmdebstrap") is None or shutil.which("bwrap") is None:
        pytest.skip("needs root, mmdebstrap and bubblewrap to make a root of another release")
    sources = _sources(release)
    assert sources, "apt knows no source of Debian's"
    done = subprocess.run(
        ["mmdebstrap", "--quiet", "--mode=root", "--variant=essential", "--format=directory"]
        + [f"--include={','.join(packages)}", '--aptopt=APT::Install-Recommends "false"']
        + ["--dpkgopt=path-exclude=/usr/share/doc/*", "--dpkgopt=path-exclude=/usr/share/man/*"]
        + [release, into, "-"],
        input=sources,
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stderr
    return into


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
