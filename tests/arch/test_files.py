"""Files stay short, unfinished work stays out, and nothing names one person's machine."""

import re

from support import tree

LIMIT, LIMIT_WITH_REASON = 400, 600
TEXT = (".cc", ".h", ".py", ".pyi", ".sh", ".txt", ".cmake", ".md", ".toml", ".json", ".fbs")


def test_code_files_are_short():
    """At most 400 lines; 600 where one of the first 20 lines says why: "This file is long because"."""
    long = []
    for path in tree.files(".cc", ".h", ".py", ".sh", ".cmake"):
        lines = tree.text(path).splitlines()
        reason = any("This file is long because " in line for line in lines[:20])
        if len(lines) > (LIMIT_WITH_REASON if reason else LIMIT):
            long.append(f"{path}: {len(lines)}")
    assert long == []


def test_no_path_of_one_machine():
    home = re.compile(r"(?<![\w.])/(root|home/\w+|work|Users/\w+)/")
    wrong = [
        f"{path}: {line.strip()}"
        for path in tree.files(*TEXT)
        for line in tree.text(path).splitlines()
        if home.search(line) and path.parts[:2] != ("tests", "arch")
    ]
    assert wrong == []


def test_no_unfinished_work():
    """A TODO names its issue; a test is not switched off."""
    marks = re.compile(r"TODO(?!\(#\d+\))|FIXME|\bDISABLED_|pytest\.mark\.skip\(")
    wrong = [
        f"{path}: {line.strip()}"
        for path in tree.files(".cc", ".h", ".py", ".sh", ".cmake")
        for line in tree.text(path).splitlines()
        if marks.search(line) and path.parts[:2] != ("tests", "arch")
    ]
    assert wrong == []


def test_headers_open_with_pragma_once():
    wrong = [str(path) for path in tree.files(".h") if "#pragma once" not in tree.text(path)]
    assert wrong == []


def test_every_component_is_tested():
    """A component folder names its C++ tests, or tests/python names the component."""
    python_tests = "\n".join(
        tree.text(path) for path in tree.files(".py") if path.parts[:2] == ("tests", "python")
    )
    untested = []
    for path in tree.files(".txt"):
        call = re.search(r"headrace_component\([^)]*\)", tree.text(path))
        if path.name != "CMakeLists.txt" or not call:
            continue
        name = re.search(r"NAME\s+(\w+)", call[0])[1]
        if "TESTS" not in call[0] and not re.search(rf"\b{name}\b", python_tests):
            untested.append(str(path))
    assert untested == []
