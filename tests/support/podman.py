"""podman with a storage of its own, where it runs without a daemon, cgroups of its own and systemd."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

# No CAP_SYS_RESOURCE: limits can only go down. runc takes cgroups of both versions; crun does not.
_CONTAINERS = """
[containers]
default_ulimits = ["nofile=4096:4096", "nproc=4096:4096"]
[engine]
runtime = "runc"
cgroup_manager = "cgroupfs"
events_logger = "file"
"""
_STORAGE = """
[storage]
driver = "overlay"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""


class Podman:
    """Commands of podman that see the images and containers of one folder alone."""

    def __init__(self, folder: Path) -> None:
        lacking = [name for name in ("podman", "runc", "mmdebstrap") if not shutil.which(name)]
        if os.geteuid() != 0 or lacking:
            pytest.skip(f"needs root and podman, runc and mmdebstrap; not here: {lacking}")
        folder.mkdir()
        (folder / "containers.conf").write_text(_CONTAINERS)
        (folder / "storage.conf").write_text(_STORAGE.format(folder=folder))
        self.variables = {
            "CONTAINERS_CONF": str(folder / "containers.conf"),
            "CONTAINERS_STORAGE_CONF": str(folder / "storage.conf"),
        }

    def __call__(self, *words: str | Path, check: bool = True) -> subprocess.CompletedProcess:
        done = subprocess.run(
            ["podman", *words],
            env=os.environ | self.variables,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert not check or done.returncode == 0, (words, done.stdout, done.stderr)
        return done

    def end(self) -> None:
        self("rm", "--all", "--force", "--time", "1")
        self("rmi", "--all", "--force")
