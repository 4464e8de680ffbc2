"""Portable wheels (deploy/wheels): what they hold, and that they run where nothing else of Headrace's is."""

import json
import pathlib
import re
import subprocess
import sys
import sysconfig
import zipfile

import numpy
import pytest
from PIL import Image
from support.debian_root import debian_root, run_in
from support.headrace_program import clean_environment
from support.wheels import portable_wheel, wheels_of_others

# The libraries of each Linux, by the manylinux rules; all others come with the wheel.
OF_THE_SYSTEM = {
    *("libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libresolv.so.2"),
    *("libstdc++.so.6", "libgcc_s.so.1", "ld-linux-x86-64.so.2"),
}
PACKAGES = pathlib.Path(sysconfig.get_path("purelib"))
PROGRAM = """
import sys
import torch
from torch.utils.data import DataLoader
from torchvision.datasets import ImageFolder
from torchvision.transforms import CenterCrop, Compose, Resize, ToTensor

import headrace

transform = Compose([Resize(40), CenterCrop(32), ToTensor()])
loader = DataLoader(ImageFolder(sys.argv[1], transform), batch_size=4, num_workers=1)
print("sum", round(sum(float(pictures.double().sum()) for pictures, _ in loader), 3))
print("package", headrace.__file__)
"""


@pytest.fixture(scope="module")
def wheel():
    return portable_wheel()


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    """A program and its pictures."""
    folder = tmp_path_factory.mktemp("data")
    pixels = numpy.random.default_rng(3).integers(0, 256, (6, 50, 60, 3), dtype=numpy.uint8)
    for index, picture in enumerate(pixels):
        place = folder / "photos" / f"class{index % 2}"
        place.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(place / f"{index}.jpg", quality=90)
    (folder / "program.py").write_text(PROGRAM)
    return folder


@pytest.fixture(scope="module")
def stock_sum(data):
    """Of the stock loader's batches, in the first line that the program writes."""
    done = subprocess.run(
        [sys.executable, data / "program.py", data / "photos"],
        env=clean_environment(),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[0]


def test_the_wheel_brings_all_that_a_system_may_lack(wheel, tmp_path):
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path)
    *_, platform = wheel.stem.split("-")
    oldest = min(int(minor) for minor in re.findall(r"manylinux_2_(\d+)_", platform))
    assert oldest <= 35, f"{platform}: not for Ubuntu 22.04"
    bundled = {path.name for path in (tmp_path / "headrace.libs").iterdir()}
    elves = [path for path in tmp_path.rglob("*") if path.is_file() and _needed(path) is not None]
    names = {path.name.split(".")[0] for path in elves}
    assert {"headrace", "libheadrace_opencv", "_client", "_images"} <= names
    for path in elves:
        alien = set(_needed(path)) - OF_THE_SYSTEM - bundled
        assert not alien, f"{path} needs {alien}"
    # Only what is linked: no drivers, no compilers, no windows.
    alien = [name for name in bundled if re.match(r"lib(LLVM|gallium|python|Qt|gtk|avcodec)", name)]
    assert not alien
    licences = {path.name for path in tmp_path.glob("*.dist-info/licenses/bundled/*")}
    assert {"libzmq5", "libcurl4", "libopencv-core406"} <= licences, licences


def _needed(path):
    """What an ELF file is linked to. None: it is none."""
    with path.open("rb") as file:
        if file.read(4) != b"\x7fELF":
            return None
    told = subprocess.run(["readelf", "-d", path], capture_output=True, text=True, check=True)
    return re.findall(r"\(NEEDED\).*\[(.*)\]", told.stdout)


def _install(wheel, *words):
    """By pip of the tests' own environment, without a network."""
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    done = subprocess.run(
        [*pip, *words, "--no-deps", "--no-index", wheel], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr


def _ran(command, data, **environment):
    report = data / "report.json"
    report.unlink(missing_ok=True)
    done = subprocess.run(
        [*command[:2], "--report", report, *command[2:], data / "program.py", data / "photos"],
        env=clean_environment(**environment),
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (loader,) = json.loads(report.read_text())["loaders"]
    assert loader["path"] == "native", loader
    return done.stdout.splitlines()


def test_it_runs_in_an_environment_of_its_own(wheel, data, stock_sum, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", tmp_path], check=True)
    python = tmp_path / "bin" / "python"
    _install(wheel, "--python", python, "install")
    (site,) = tmp_path.glob("lib/python3*/site-packages")
    (site / "others.pth").write_text(f"{PACKAGES}\n")  # torch
    program = tmp_path / "bin" / "headrace"
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    assert re.search(r"\d+\.\d+", said.stdout)
    lines = _ran([program, "run", python], data)
    assert lines == [stock_sum, f"package {site}/headrace/__init__.py"]
    # From inside of a program, too, and not the program of another environment on PATH.
    code = "from headrace.service.options import find_binary; print(find_binary())"
    found = subprocess.run(
        [python, "-c", code], env=clean_environment(), capture_output=True, text=True, check=True
    )
    assert found.stdout.strip() == str(site / "headrace" / "bin" / "headrace")
    # Not a library of this system but those that each system has.
    for path in (
        site / "headrace" / "bin" / "headrace",
        site / "headrace/lib/libheadrace_opencv.so",
    ):
        for name, place in re.findall(r"(\S+) => (\S+)", _output("ldd", path)):
            assert name in OF_THE_SYSTEM or "headrace.libs" in place, (name, place)


def test_it_runs_from_a_folder_on_pythonpath(wheel, data, stock_sum, tmp_path):
    """What `pip install --target` makes; the program's interpreter is another environment's."""
    _install(wheel, "install", "--target", tmp_path / "packages")
    program = tmp_path / "packages" / "bin" / "headrace"
    lines = _ran([program, "run", sys.executable], data, PYTHONPATH=str(tmp_path / "packages"))
    assert lines == [stock_sum, f"package {tmp_path}/packages/headrace/__init__.py"]


def _output(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


@pytest.mark.full
def test_it_runs_on_a_bare_debian_12(wheel, data, stock_sum, tmp_path):
    """No package but Python, its pip, and the C++ library that torch needs too. torch is this checkout's."""
    packages = ["python3", "python3-pip", "python3-venv", "libstdc++6"]
    root = debian_root("bookworm", tmp_path / "root", *packages)
    see = {wheel.parent: "/wheels", data: "/data", PACKAGES: "/packages"}
    script = f"""
        set -e
        python3 -m venv /opt/env
        /opt/env/bin/pip install --no-deps --no-index /wheels/{wheel.name}
        echo /packages > /opt/env/lib/python3.11/site-packages/others.pth
        /opt/env/bin/headrace --version
        /opt/env/bin/headrace run --report /tmp/report.json /opt/env/bin/python /data/program.py /data/photos
        grep -q '"path": *"native"' /tmp/report.json
    """
    done = run_in(root, "sh", "-c", script, see=see)
    assert done.returncode == 0, done.stdout + done.stderr
    assert stock_sum in done.stdout.splitlines()


@pytest.mark.full
def test_it_runs_on_debian_13(wheel, data, stock_sum, tmp_path):
    """Its glibc, C++ library and file system, with this host's Python and torch, which are of Debian 12."""
    _install(wheel, "install", "--target", tmp_path / "site")
    root = debian_root("trixie", tmp_path / "root", "python3", "libstdc++6")
    version = f"python3.{sys.version_info.minor}"
    see = {tmp_path / "site": "/site", data: "/data", PACKAGES: "/packages"}
    see |= {
        pathlib.Path(sys.base_prefix, place, version): f"/usr/{place}/{version}"
        for place in ("bin", "lib")
    }
    script = f"""
        set -e
        /site/headrace/bin/headrace --version
        /site/headrace/bin/headrace run --report /tmp/report.json {version} /data/program.py /data/photos
        grep -q '"path": *"native"' /tmp/report.json
    """
    done = run_in(root, "sh", "-c", script, see=see, PYTHONPATH="/site:/packages")
    assert done.returncode == 0, done.stdout + done.stderr
    assert stock_sum in done.stdout.splitlines()


@pytest.mark.full
def test_the_system_pip_of_debian_13_installs_the_wheel_of_the_stable_abi(data, tmp_path):
    """Python 3.13, Debian's own torch, and /usr/local/lib/python3.13/dist-packages."""
    _, _, stable = wheels_of_others()
    packages = ["python3-pip", "python3-torch", "python3-torchvision", "python3-cloudpickle"]
    root = debian_root("trixie", tmp_path / "root", "python3", *packages)
    script = f"""
        set -e
        pip install --break-system-packages --no-deps --no-index /wheels/{stable.name}
        headrace --version
        python3 /data/program.py /data/photos | head -1
        headrace run --report /tmp/report.json python3 /data/program.py /data/photos
        cat /tmp/report.json
    """
    done = run_in(root, "sh", "-c", script, see={stable.parent: "/wheels", data: "/data"})
    assert done.returncode == 0, done.stdout + done.stderr
    sums = [line for line in done.stdout.splitlines() if line.startswith("sum ")]
    assert len(sums) == 2 and len(set(sums)) == 1, done.stdout
    assert "package /usr/local/lib/python3.13/dist-packages/headrace/" in done.stdout
    assert re.search(r'"path": *"(native|python)"', done.stdout), done.stdout + done.stderr


@pytest.mark.full
def test_the_wheel_of_python_3_10_is_imported_there(tmp_path):
    python, wheel, _ = wheels_of_others()
    subprocess.run([python, "-m", "venv", tmp_path], check=True)
    pip = [tmp_path / "bin" / "pip", "install", "-q"]
    subprocess.run([*pip, "numpy", "cloudpickle", wheel], check=True)
    code = "import headrace, headrace._client as c; print(headrace.__version__, c.__file__)"
    said = _output(tmp_path / "bin" / "python", "-c", code)
    assert "python3.10" in said and "_client.cpython-310" in said
    assert "headrace" in _output(tmp_path / "bin" / "headrace", "--version")


@pytest.mark.full
def test_pip_of_an_older_debian_refuses_it_in_words(wheel, tmp_path):
    """Debian 11 has glibc 2.31 and Python 3.9."""
    root = debian_root("bullseye", tmp_path / "root", "python3", "python3-pip")
    command = ["pip", "install", "--no-deps", "--no-index", f"/wheels/{wheel.name}"]
    done = run_in(root, *command, see={wheel.parent: "/wheels"})
    assert done.returncode != 0
    assert "is not a supported wheel on this platform" in done.stderr
