"""Which modules are installed packages, which other hosts have too, and which are the program's own, which
travel: by where they lie on the search path."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from headrace.process import modules
from headrace.service import options

LOOK = """
import sys, torch, a_package, a_module, mine
from headrace.process.modules import any_own, is_installed, own_modules

names = {module.__name__ for module in own_modules()}
for name in ("a_package", "a_package.part", "a_module", "mine"):
    file = sys.modules[name].__file__
    assert is_installed(file) != (name in names) == any_own([name]), name
    print(name, "own" if name in names else "installed")
"""


def looked(folder: Path, *more: Path) -> dict[str, str]:
    """What each module of a folder counts as in a program that has the folder on PYTHONPATH."""
    done = subprocess.run(
        [sys.executable, "-c", LOOK],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(map(str, (folder, *more)))},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return dict(line.split() for line in done.stdout.splitlines())


def write_modules(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("a_package/__init__.py", "a_package/part.py", "a_module.py", "mine.py"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("from . import part\n" if "__init__" in name else "x = 1\n")


def wheel_of_a_library(folder: Path) -> Path:
    info = "a_library-1.0.dist-info"
    files = {
        "a_package/__init__.py": "from . import part\n",
        "a_package/part.py": "x = 1\n",
        "a_module.py": "x = 1\n",
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: a-library\nVersion: 1.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: t\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in [*files, f"{info}/RECORD"])
    path = folder / "a_library-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


ALL_INSTALLED = dict.fromkeys(("a_package", "a_package.part", "a_module"), "installed")


@pytest.mark.parametrize("name", ["site-packages", "dist-packages"])
def test_packages_of_another_environment_are_installed(name, tmp_path):
    """Debian's own pip installs into dist-packages; another environment has site-packages."""
    folder = tmp_path / "lib" / "python3.12" / name
    write_modules(folder)
    assert looked(folder) == {**ALL_INSTALLED, "mine": "installed"}


def test_what_pip_put_beside_the_programs_own_files_is_installed(tmp_path):
    """`pip install --target`, also into the folder of the program."""
    (tmp_path / "mine.py").write_text("x = 1\n")
    wheel = wheel_of_a_library(tmp_path.parent)
    command = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--target", tmp_path]
    subprocess.run([*command, wheel], check=True)
    assert looked(tmp_path) == {**ALL_INSTALLED, "mine": "own"}


def test_a_folder_of_sources_is_the_programs_own(tmp_path):
    """With the trace of `pip install -e` that setuptools leaves there."""
    write_modules(tmp_path)
    (tmp_path / "a_library.egg-info").mkdir()
    (tmp_path / "a_library.egg-info" / "top_level.txt").write_text("a_package\na_module\n")
    assert set(looked(tmp_path).values()) == {"own"}


def test_what_joins_the_search_path_later_counts(tmp_path, monkeypatch):
    folder = tmp_path / "site-packages"
    write_modules(folder)
    file = str(folder / "mine.py")
    assert not modules.is_installed(file)
    monkeypatch.syspath_prepend(str(folder))
    assert modules.is_installed(file)


@pytest.mark.parametrize(
    "record", [b'\n/,,\n../../bin/tool,,\n./,,\n"",,\n,\n', b"\xff\xfe", b"/mine.py,,\n", b""]
)
def test_a_record_that_says_nonsense_installs_nothing(record, tmp_path, monkeypatch):
    info = tmp_path / "a_library-1.0.dist-info"
    info.mkdir()
    (info / "RECORD").write_bytes(record)
    (tmp_path / "mine.py").write_text("x = 1\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    assert not modules.is_installed(str(tmp_path / "mine.py"))


def test_the_program_of_this_package_comes_before_others(tmp_path, monkeypatch):
    package = tmp_path / "headrace"
    (package / "bin").mkdir(parents=True)
    program = package / "bin" / "headrace"
    program.write_text("#!/bin/sh\n")
    monkeypatch.setattr(options, "__file__", str(package / "service" / "options.py"))
    assert options.find_binary({}) != str(program), "it cannot be run"
    program.chmod(0o755)
    assert options.find_binary({}) == str(program)
    assert options.find_binary({"HEADRACE_BINARY": "/other"}) == "/other"
