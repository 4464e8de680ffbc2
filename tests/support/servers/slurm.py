"""Slurm: munged, slurmctld and several slurmd on this host, each node with a port of its own."""

import contextlib
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from support.headrace_program import free_port, wait_for

from .processes import Processes, processes

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "scancel", "sinfo")
# No cgroups and no accounting: a container as root has enough. Times are the shortest that Slurm takes.
_SETTINGS = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=0
PreemptType=preempt/partition_prio
PreemptMode=CANCEL
KillWait=5
SlurmdTimeout=60
ReturnToService=2
MailProg=/bin/true
LaunchParameters=disable_send_gids
SlurmctldPidFile={folder}/slurmctld.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
SlurmdPidFile={folder}/slurmd.%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.%n.log
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=20
PartitionName=preempt Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=1 GraceTime=20
PartitionName=urgent Nodes=ALL MaxTime=INFINITE State=UP PriorityTier=9
PartitionName=closed Nodes=ALL AllowGroups=nobody-has-it MaxTime=INFINITE State=UP
"""


def missing() -> str:
    """Why there is no Slurm here; empty: it can run."""
    lacking = [name for name in PROGRAMS if shutil.which(name) is None]
    if lacking:
        return f"Slurm is not installed here: no {', '.join(lacking)}"
    return "" if os.geteuid() == 0 else "slurmd starts jobs as root alone"


@dataclass
class Slurm:
    folder: Path
    daemons: Processes
    nodes: dict[str, subprocess.Popen[bytes]]

    @property
    def environment(self) -> dict[str, str]:
        """With which Slurm's commands find this cluster."""
        return {"SLURM_CONF": str(self.folder / "slurm.conf")}

    def run(self, *words: str) -> str:
        done = subprocess.run(
            words, env=os.environ | self.environment, capture_output=True, text=True, timeout=60
        )
        assert done.returncode == 0, f"{words}: {done.stdout}{done.stderr}"
        return done.stdout

    def jobs(self, states: str = "PENDING,RUNNING") -> list[list[str]]:
        """Of each job: its id, state, node and comment."""
        told = self.run("squeue", "-h", "-r", "-t", states, "-o", "%i|%T|%N|%k")
        return [line.split("|", 3) for line in told.splitlines()]

    def kill_node(self, name: str) -> None:
        """Nothing of it is left: daemon, the daemons of its jobs, and the jobs."""
        daemon = self.nodes.pop(name)
        daemon.kill()
        daemon.wait()
        for pid in self._of_jobs(name):
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _of_jobs(self, node: str) -> list[int]:
        """Processes of the node's jobs, and the daemons above them, which slurmd does not keep as children."""
        marks = f"SLURM_CONF={self.folder}/slurm.conf", f"SLURMD_NODENAME={node}"
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            try:
                variables = (place / "environ").read_bytes().decode(errors="replace").split("\0")
                if not all(mark in variables for mark in marks):
                    continue
                parent = (place / "stat").read_text().rpartition(")")[2].split()[1]
                found.append(int(place.name))
                if "slurmstepd" in Path(f"/proc/{parent}/comm").read_text():
                    found.append(int(parent))
            except OSError:  # it has ended
                continue
        return found


@contextlib.contextmanager
def slurm(folder: Path, nodes: int = 4, cores: int = 4) -> Iterator[Slurm]:
    """A cluster of so many nodes, which ends with all of its jobs. Skips the test where it cannot run."""
    if why := missing():
        pytest.skip(why)
    host = socket.gethostname().partition(".")[0]
    names = [f"n{number}" for number in range(1, nodes + 1)]
    folder.mkdir(parents=True)
    (folder / "state").mkdir()
    for name in names:
        (folder / f"spool.{name}").mkdir()
    lines = [
        f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={free_port()} "
        f"CPUs={cores} RealMemory=8192"
        for name in names
    ]
    settings = folder / "slurm.conf"
    settings.write_text(
        _SETTINGS.format(host=host, port=free_port(), folder=folder, nodes="\n".join(lines))
    )
    key = folder / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o600)
    with processes(folder) as made:
        made.start(
            "munged", "--foreground", "--force", f"--key-file={key}",
            f"--socket={folder}/munge.socket", f"--pid-file={folder}/munge.pid",
            f"--log-file={folder}/munge.log", f"--seed-file={folder}/munge.seed",
        )  # fmt: skip
        wait_for((folder / "munge.socket").exists, f"munged: {made.said()}")
        made.start("slurmctld", "-D", "-f", settings)
        daemons = {name: made.start("slurmd", "-D", "-f", settings, "-N", name) for name in names}
        cluster = Slurm(folder, made, daemons)
        wait_for(lambda: _idle(cluster) == nodes, f"idle nodes; {made.said()}", 60)
        try:
            yield cluster
        finally:
            for name in list(cluster.nodes):
                cluster.kill_node(name)


def _idle(cluster: Slurm) -> int:
    told = subprocess.run(
        ["sinfo", "-h", "-N", "-p", "all", "-t", "idle", "-o", "%N"],
        env=os.environ | cluster.environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    return len(told.stdout.split())
