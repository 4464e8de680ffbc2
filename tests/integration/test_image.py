"""The worker pool's image (deploy/container): made without a container engine, run by podman, and by a pool that
starts its workers in it."""

import gzip
import json
import re
import shutil
import subprocess
import sys

import numpy
import pytest
from PIL import Image
from support.headrace_program import (
    HEADRACE,
    clean_environment,
    free_address,
    free_port,
    headrace,
    ready_workers,
    running,
    wait_for,
    workers,
)
from support.podman import Podman
from support.wheels import ROOT, portable_wheel

MOST_COMPRESSED = 120e6  # bytes of the image without Python
MOST_WITH_PYTHON = 240e6  # with Python and torch, less what root.sh leaves out (286e6 with it)
IMAGE, WITH_PYTHON = "localhost/headrace", "localhost/headrace-python"
# As docs/operate.md and deploy/README.md say it, with limits; {args} and the like are the pool's.
LIMITS = "--read-only --cap-drop=all --security-opt=no-new-privileges --cpus={cores} --memory=1g"
PROGRAM = """
import sys, zlib
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import CenterCrop, Compose, Resize, ToTensor

transform = Compose([Resize(40), CenterCrop(32), ToTensor()])
loader = DataLoader(ImageFolder(sys.argv[1], transform), batch_size=4, num_workers=2)
for _ in range(int(sys.argv[2])):
    print(*(zlib.crc32(pictures.numpy().tobytes()) for pictures, _ in loader), flush=True)
"""


def build(podman, folder, image, *words):
    """root.sh, then the engine's build, as deploy/README.md has them. The compressed size in bytes."""
    script = ROOT / "deploy" / "container" / "root.sh"
    done = subprocess.run(
        [script, *words, portable_wheel(), folder],
        env=clean_environment(PYTHON=sys.executable),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    with open(folder / "root.tar", "rb") as plain, gzip.open(folder / "gz", "wb", 6) as packed:
        shutil.copyfileobj(plain, packed)
    size = (folder / "gz").stat().st_size
    (folder / "gz").unlink()
    podman("build", "--isolation", "chroot", "--format", "docker", "-t", image, folder)
    (folder / "root.tar").unlink()
    return size


@pytest.fixture(scope="module")
def podman(tmp_path_factory):
    engine = Podman(tmp_path_factory.mktemp("podman") / "storage")
    yield engine
    engine.end()


@pytest.fixture(scope="module")
def compressed(podman, tmp_path_factory):
    return build(podman, tmp_path_factory.mktemp("image"), IMAGE)


@pytest.fixture(scope="module")
def photos(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    folder.chmod(0o755)
    for parent in folder.parents[:2]:  # pytest's own are for root alone
        parent.chmod(0o711)
    pixels = numpy.random.default_rng(3).integers(0, 256, (24, 50, 60, 3), dtype=numpy.uint8)
    for index, picture in enumerate(pixels):
        place = folder / "photos" / f"class{index % 2}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(place / f"{index}.jpg", quality=90)
    return folder / "photos"


def test_it_is_small_and_its_user_is_nobody_in_particular(podman, compressed):
    print(f"image without Python: {compressed / 1e6:.1f} MB compressed")
    assert 5e6 < compressed < MOST_COMPRESSED
    (made,) = json.loads(podman("inspect", IMAGE).stdout)
    settings = made["Config"]
    assert settings["User"] == "1000:1000" and settings["Entrypoint"] == ["headrace"]
    assert made["HealthCheck" if "HealthCheck" in made else "Healthcheck"]["Test"] == [
        "CMD",
        "headrace-healthy",
    ]
    # A container engine's words for "as little as there is".
    said = podman(
        *("run", "--rm", "--network=none", "--entrypoint", "sh", *LIMITS.format(cores=1).split()),
        *(
            IMAGE,
            "-c",
            "id -u; touch /x /opt/x 2>&1; touch /tmp/y && grep -E 'Cap|NoNew' /proc/1/status",
        ),
    ).stdout
    assert said.splitlines()[0] == "1000" and said.count("Read-only file system") == 2, said
    assert set(re.findall(r"^Cap\w+:\s+(\w+)", said, re.M)) == {"0" * 16}, said
    assert re.search(r"NoNewPrivs:\s+1", said), said
    assert not re.search(
        "python", podman("run", "--rm", "--entrypoint", "ls", IMAGE, "/usr/bin").stdout
    )
    assert "headrace" in podman("run", "--rm", "--read-only", IMAGE, "--version").stdout


def test_health_is_what_healthz_says(podman, compressed, tmp_path):
    """Healthy while the program answers, and not when it stands still."""
    port, name = free_port(), f"healthy{free_port()}"
    serve = ["coordinator", "--listen", free_address(), f"--http=127.0.0.1:{port}"]
    podman(
        "run",
        "-d",
        "--name",
        name,
        "--network=host",
        *LIMITS.format(cores=1).split(),
        IMAGE,
        *serve,
    )

    def healthy():
        return podman("exec", name, "headrace-healthy", check=False).returncode == 0

    wait_for(healthy, "health", 20)
    assert podman("healthcheck", "run", name, check=False).returncode == 0
    podman("kill", "--signal", "STOP", name)
    assert not healthy()
    podman("kill", "--signal", "CONT", name)
    wait_for(healthy, "health", 20)
    podman("stop", "--time", "15", name)
    state = json.loads(podman("inspect", name).stdout)[0]["State"]
    assert state["ExitCode"] == 0 and state["Status"] == "exited", state
    podman("rm", name)


def stock(photos, epochs, tmp_path):
    return program(photos, epochs, tmp_path, sys.executable)


def program(photos, epochs, tmp_path, *prefix, **environment):
    (tmp_path / "train.py").write_text(PROGRAM)
    done = subprocess.run(
        [*prefix, tmp_path / "train.py", photos, str(epochs)],
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def pool_of_containers(podman, address, photos, log, image=IMAGE, more=(), limits=LIMITS, words=""):
    """A coordinator whose workers are containers, by the command of docs/operate.md."""
    command = f"podman run --rm --network=host --name {{member}} {limits} -v {photos}:{photos}:ro"
    options = ["--exec-command", f"{command} {image} {{args}} {words}", "--exec-stop"]
    options += ["podman stop --time 15 {member}", "--exec-cores", "1"]
    words = ["coordinator", "--listen", address, "--pool", "exec", *options, *more]
    return running(*words, log=log, HEADRACE_LOG="info", **podman.variables)


def samples_of(address, worker):
    """That it has made so far, of all jobs."""
    (found,) = [w for w in workers(address) if w["worker"] == worker["worker"]]
    return found["samples"]


def containers(podman):
    return podman("ps", "--format", "{{.Names}}").stdout.split()


def test_a_pool_of_containers_serves_a_job(podman, compressed, photos, tmp_path):
    expected = stock(photos, 3, tmp_path)
    address, log = free_address(), tmp_path / "log"
    with pool_of_containers(podman, address, photos, log, more=("--workers", "2")):
        wait_for(lambda: len(ready_workers(address)) == 2, "two workers", 60)
        names = containers(podman)
        assert len(names) == 2
        state = json.loads(podman("inspect", names[0]).stdout)[0]
        assert state["HostConfig"]["Memory"] == 1 << 30 and state["HostConfig"]["NanoCpus"] == 1e9
        told = headrace("workers", "--json", "--coordinator", address)
        assert {worker["member"] for worker in json.loads(told.stdout)["workers"]} == set(names)
        run = [HEADRACE, "run", "--remote-only", "--coordinator", address]
        report = tmp_path / "report.json"
        made = program(photos, 3, tmp_path, *run, "--report", report, sys.executable)
        assert made == expected, log.read_text()
        (path,) = {entry["path"] for entry in json.loads(report.read_text())["loaders"]}
        assert path == "native"
        # One that is killed from outside is replaced.
        podman("kill", names[0])
        wait_for(lambda: len(set(containers(podman)) - {names[0]}) == 2, "another container", 60)
        wait_for(lambda: len(ready_workers(address)) == 2, "two workers", 60)
        assert program(photos, 3, tmp_path, *run, sys.executable) == expected, log.read_text()
    wait_for(lambda: not containers(podman), f"end of all containers; {log.read_text()}", 40)


@pytest.mark.full
def test_a_pool_of_containers_grows_from_none(podman, compressed, photos, tmp_path):
    address, log = free_address(), tmp_path / "log"
    more = ("--workers", "0", "--max-workers", "2")
    with pool_of_containers(podman, address, photos, log, more=more):
        run = [HEADRACE, "run", "--remote-only", "--coordinator", address, "--no-workers", "wait"]
        assert program(photos, 3, tmp_path, *run, sys.executable) == stock(photos, 3, tmp_path)
        assert containers(podman), log.read_text()
    wait_for(lambda: not containers(podman), f"end of all containers; {log.read_text()}", 40)


# Its own code, which takes some time. Trains until it is told to stop.
PYTHON_PROGRAM = """
import os, sys, zlib
import torch
from torch.utils.data import DataLoader, Dataset

class Numbers(Dataset):
    def __len__(self):
        return 64
    def __getitem__(self, index):
        made = torch.full((200, 200), index / 64)
        for _ in range(20):
            made = torch.tanh(made @ made)
        return made[0, :4].clone()

loader = DataLoader(Numbers(), batch_size=4, num_workers=2, persistent_workers=True)
stop = sys.argv[1]
while True:
    print(*(zlib.crc32(batch.numpy().tobytes()) for batch in loader), flush=True)
    if os.path.exists(stop):
        break
"""


@pytest.mark.full
def test_the_variant_with_python_runs_code_of_programs(podman, photos, tmp_path):
    """Beside a worker of the program's host, with which it is compared first (docs/adr/0028-elsewhere.md)."""
    torch = __import__("torch").__version__.partition("+")[0]
    size = build(podman, tmp_path / "image", WITH_PYTHON, "--python", f"torch=={torch}")
    print(f"image with Python and torch: {size / 1e6:.0f} MB compressed")
    assert size < MOST_WITH_PYTHON
    (tmp_path / "train.py").write_text(PYTHON_PROGRAM)
    stop, report = tmp_path / "stop", tmp_path / "report.json"
    train = [sys.executable, tmp_path / "train.py", stop]
    environment = clean_environment(HEADRACE_LOCAL_WORKER="on")
    stop.touch()
    stock = subprocess.run(train, env=environment, capture_output=True, text=True, check=True)
    stop.unlink()
    address, log = free_address(), tmp_path / "log"
    # By its name the container is another host. A worker on loopback serves its own alone, and 127.1 is no
    # literal of loopback.
    limits = LIMITS.replace("1g", "3g") + " --uts=private --hostname=elsewhere"
    words = "--listen tcp://127.0.0.1:0 --advertise 127.1"
    more = ("--workers", "1")
    with pool_of_containers(podman, address, photos, log, WITH_PYTHON, more, limits, words):
        wait_for(lambda: ready_workers(address), "a worker", 60)
        (container,) = ready_workers(address)
        run = [HEADRACE, "run", "--coordinator", address, "--report", report, *train]
        program = subprocess.Popen(
            run, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            wait_for(lambda: samples_of(address, container) > 100, "samples", 200)
        finally:
            stop.touch()
            out, err = program.communicate(timeout=100)
        assert program.returncode == 0, err + log.read_text()
        assert set(out.splitlines()) == set(stock.stdout.splitlines()), err
        (loader,) = json.loads(report.read_text())["loaders"]
        assert loader["path"] == "python", loader
        assert loader["samples_by_worker"][str(container["worker"])] > 0, loader
    wait_for(lambda: not containers(podman), f"end of all containers; {log.read_text()}", 40)
