"""The first epoch and later ones of images from each tier of Headrace's cache and from its source: local
files, a store with a link of 20 MB/s, a store with 50 ms an answer. Beside it tf.data's cache(), FFCV's raw
images, MosaicML Streaming and LitData, where they apply.

The peers are those that are in the environments that --peers and --tensorflow name (Pythons); this installs
none. CPU seconds are those of all processes of a system (a control group, so that it needs root), without
the store's. One round measures each system once.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

import tiers_systems
from tiers_report import write
from tiers_systems import System

MODULES = {"tiers_tfdata": "tensorflow", "tiers_ffcv": "ffcv", "tiers_streaming": "streaming",
           "tiers_litdata": "litdata"}  # fmt: skip
SOURCES = {"disk": None, "20 MB/s": (0, 20e6), "50 ms": (50, 0)}
DISK_TIER = ["--threads", "2", "--cache-tier", "disk:size=3G,directory={work}/tier"]


def headrace(source: str) -> list[System]:
    """From each tier. Pools, since a program's own workers have no disk tier."""
    command = [sys.executable, "tiers_torch.py"]
    if source == "disk":
        command += ["{data}"]
        remembered = []
    else:
        command += [f"s3://{tiers_systems.BUCKET}/train", "--endpoint", "{endpoint}"]
        remembered = [("memory, versions believed", [*command, "--remember", "3600"])]
    memory = [["--threads", "2", "--cache", "3G"]]
    made = [
        System("Headrace", "source", command, source, workers=[["--threads", "2"]]),
        System("Headrace", "memory", command, source, workers=memory, settle=3, later=8),
        System("Headrace", "local disk", command, source, workers=[DISK_TIER], settle=3,
               own=("{work}/tier",), cold=("{work}/tier",)),
        System("Headrace", "peers", command, source, workers=[["--threads", "1", "--cache", "1G"]] * 4,
               settle=4, later=6),
    ]  # fmt: skip
    made += [
        System("Headrace", tier, program, source, workers=memory, settle=3, later=8)
        for tier, program in remembered
    ]
    return made


def peers(source: str, python: pathlib.Path, tensorflow: pathlib.Path) -> list[System]:
    bucket = f"s3://{tiers_systems.BUCKET}"
    if source != "disk":
        to = {"AWS_ENDPOINT_URL": "{endpoint}", "S3_ENDPOINT_URL": "{endpoint}"}
        return [
            System("MosaicML Streaming", "its local copy",
                   [python, "tiers_streaming.py", "{work}/copy/mds", "--remote", f"{bucket}/mds"],
                   source, environment=to, own=("{work}/copy",)),
            System("LitData", "its local copy",
                   [python, "tiers_litdata.py", f"{bucket}/lit", "--copies", "{work}/copy", "--endpoint",
                    "{endpoint}"],
                   source, environment=to, own=("{work}/copy",)),
        ]  # fmt: skip
    ffcv = [python, "tiers_ffcv.py", "{data}", "{work}/ffcv.beton"]
    tfdata = [tensorflow, "tiers_tfdata.py", "{data}"]
    shards = "{work}/store/" + tiers_systems.BUCKET
    return [
        System("stock DataLoader", "source", [sys.executable, "tiers_torch.py", "{data}"],
               environment={"HEADRACE": "off"}),
        System("tf.data", "cache()", tfdata, later=6),
        System("tf.data", "cache(file)", [*tfdata, "--cache-file", "{work}/tf/cache"],
               own=("{work}/tf",), cold=("{work}/tf",)),
        System("FFCV raw", "page cache", ffcv, cold=("{work}/ffcv.beton",), later=6, warm=True),
        System("FFCV raw", "local disk", [*ffcv, "--from-disk"], cold=("{work}/ffcv.beton",)),
        System("MosaicML Streaming", "source", [python, "tiers_streaming.py", f"{shards}/mds"],
               cold=(f"{shards}/mds",), warm=True),
        System("LitData", "source", [python, "tiers_litdata.py", f"{shards}/lit"],
               cold=(f"{shards}/lit",), warm=True),
    ]  # fmt: skip


def missing(systems: list[System]) -> dict[str, str]:
    """Name -> why it is not there."""
    found = {}
    for system in systems:
        python, program = system.command[:2]
        module = MODULES.get(pathlib.Path(program).stem)
        if module is None or system.name in found:
            continue
        command = [str(python), "-c", f"import {module}"]
        with contextlib.suppress(FileNotFoundError):
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode == 0:
                continue
        found[system.name] = f"no module {module} that can be imported"
    return found


def prepare(data: pathlib.Path, work: pathlib.Path, python: pathlib.Path, absent: dict) -> None:
    """The photographs, and the formats that peers want."""
    bucket = work / "store" / tiers_systems.BUCKET
    shutil.copytree(data, bucket / "train")
    for name, command in {
        "FFCV raw": ["tiers_ffcv.py", bucket / "train", work / "ffcv.beton", "--write"],
        "MosaicML Streaming": ["tiers_streaming.py", bucket / "mds", "--write", bucket / "train"],
        "LitData": ["tiers_litdata.py", bucket / "lit", "--write", bucket / "train"],
    }.items():
        if name not in absent:
            subprocess.run([python, *command], cwd=tiers_systems.HERE, check=True,
                           capture_output=True)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=pathlib.Path, default=tiers_systems.harness.PHOTOS)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peers", type=pathlib.Path, default=pathlib.Path(sys.executable),
                        help="Python with FFCV, MosaicML Streaming, LitData")  # fmt: skip
    parser.add_argument("--tensorflow", type=pathlib.Path, default=pathlib.Path(sys.executable))
    parser.add_argument("--sources", nargs="*", default=list(SOURCES), choices=list(SOURCES))
    parser.add_argument("--only", nargs="*", help="of these systems alone; writes no report")
    arguments = parser.parse_args()
    photos = tiers_systems.harness.describe_photos(arguments.data)
    python, tensorflow = arguments.peers.absolute(), arguments.tensorflow.absolute()
    systems = [
        one for source in arguments.sources
        for one in [*headrace(source), *peers(source, python, tensorflow)]
        if not arguments.only or one.name in arguments.only
    ]  # fmt: skip
    absent = missing(systems)
    systems = [one for one in systems if one.name not in absent]
    runs, failures = [], []
    with tempfile.TemporaryDirectory(dir=tiers_systems.harness.ROOT / "build") as folder:
        work = pathlib.Path(folder)
        prepare(arguments.data, work, python, absent)
        account = tiers_systems.CpuAccount()
        places = {"work": work, "data": work / "store" / tiers_systems.BUCKET / "train"}
        for number in range(arguments.rounds):
            for system in systems:
                at = contextlib.nullcontext("")
                if SOURCES[system.source]:
                    at = tiers_systems.store(work / "store", *SOURCES[system.source])
                with at as endpoint, (work / "log").open("w") as log:
                    try:
                        made = tiers_systems.measure(
                            system, account, {**places, "endpoint": endpoint}, log
                        )
                    except (RuntimeError, BrokenPipeError) as error:
                        tail = (work / "log").read_text().strip()[-300:].replace("\n", " ")
                        failures.append(f"{system.name}, {system.tier}, {system.source}: {tail}")
                        print(f"{error}: {failures[-1]}", file=sys.stderr, flush=True)
                        continue
                run = {"round": number, "system": system.name, "tier": system.tier,
                       "source": system.source, "load": os.getloadavg()[0], **made}  # fmt: skip
                runs.append(run)
                print(run, file=sys.stderr, flush=True)
    if not arguments.only:
        write(photos, runs, absent, failures)


if __name__ == "__main__":
    main()
