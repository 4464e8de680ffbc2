"""The project's files, as the architecture tests see them."""

import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CODE_FOLDERS = ("base", "schemas", "net", "ops", "dataworker", "coordinator", "trainer_client")
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def files(*suffixes):
    """Files with these suffixes that git tracks or would track, relative to the root, sorted."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, check=True).stdout.decode()
    paths = (Path(name) for name in listed.split("\0") if name)
    return sorted({path for path in paths if path.suffix in suffixes and (ROOT / path).is_file()})


def sources():
    """Our C++ files that ship: no tests, no benchmarks."""
    return [
        path
        for path in files(".cc", ".h")
        if path.parts[0] in CODE_FOLDERS and not path.stem.endswith(("_test", "_bench", "_fuzz"))
    ]


def text(path):
    return (ROOT / path).read_text()


def code(path):
    """The text of a C++ file without its comments."""
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text(path), flags=re.DOTALL)


def includes(path):
    """(is_system, name) of each #include."""
    return [(bracket == "<", name) for bracket, name in INCLUDE.findall(text(path))]
