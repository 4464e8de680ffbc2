"""The project's files, as the architecture tests see them (no git needed)."""

import os
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = ("build", "__pycache__")
CODE_FOLDERS = (
    "base",
    "eviction",
    "schemas",
    "net",
    "web",
    "ops",
    "dataworker",
    "trainer_client",
    "coordinator",
    "simulate",
    "cli",
)
INCLUDE = re.compile(r'^\s*#\s*include\s+([<"])([^>"]+)[>"]', re.MULTILINE)


def files(*suffixes):
    """The project's files with these suffixes, relative to the root, sorted."""
    found = []
    for folder, subfolders, names in os.walk(ROOT):
        subfolders[:] = [n for n in subfolders if not n.startswith(".") and n not in NOT_OURS]
        found += [Path(folder, n).relative_to(ROOT) for n in names if Path(n).suffix in suffixes]
    return sorted(found)


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


def documented_keys(page, heading):
    """The keys in the table that a page has below "### heading"."""
    section = text(Path(page)).split(f"### {heading}\n")[1].split("\n#")[0]
    return set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE))
