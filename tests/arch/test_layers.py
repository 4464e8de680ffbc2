"""Folders depend on each other in one direction only, and each library stays behind its fence."""

import re

import pytest
from support import tree

# Layer of a path: the longest prefix below. What a layer may include, beside itself.
LIGHT = {"ops/torch", "ops/core"}  # of operators: contracts, arguments, draws
PIXELS = LIGHT | {"ops/vision"}
SERVICE = {"base", "schemas", "net"}
ALLOWED = {
    "base": set(),
    "remote": {"base"},
    "eviction": {"base"},
    "schemas": {"base"},
    "net": {"base", "schemas"},
    "web": {"base", "schemas", "net"},
    "ops/torch": {"base"},
    "ops/core": {"base", "ops/torch"},
    "ops/vision": {"base", *LIGHT},
    "ops/*": {"base", *PIXELS},
    "dataworker": {"remote", "eviction", "web", *SERVICE, *PIXELS, "ops/*"},
    "trainer_client": {"remote", *SERVICE, *LIGHT},
    "coordinator": {*SERVICE, *LIGHT},
    "simulate": {*SERVICE, "coordinator", "eviction"},
    # The program `headrace`, which is the worker too.
    "cli": {"eviction", "web", *SERVICE, "ops/core", "coordinator", "dataworker", "simulate"},
}
# Of another layer, these files alone. An entry needs a reason.
EXCEPTIONS = {
    # The entry points of `headrace worker` and of the processes that it starts, declared without the
    # worker's types, and what options say of these.
    "cli": {
        "dataworker": {
            "dataworker/worker/worker_main.h",
            "dataworker/stage/confine/stage_process.h",
            "dataworker/stage/confine/confinement.h",
        }
    },
}
# A library's headers, and where they may be included.
FENCES = {
    r"^flatbuffers/|_generated\.h$": ("schemas/",),
    r"^zmq\.h(pp)?$|^zmq_addon\.hpp$": ("net/",),
    r"^(jpeglib|jerror|turbojpeg|png)\.h$": ("ops/vision/",),
    r"^opencv2?/": ("bench/", "ops/opencv/"),
    r"^(tbb|oneapi)/": ("dataworker/exec/",),
    r"^sqlite3\.h$": ("coordinator/state/",),
    r"^spdlog/|^fmt/": ("base/log",),
    r"^xxhash\.h$": ("base/hash",),
    r"^sodium": ("base/pass/", "remote/"),
    r"^curl/": ("remote/", "web/test_client", "coordinator/pool/kubernetes/http_calls"),
    r"^microhttpd\.h$": ("web/",),
    r"^CLI/": ("cli/",),
    r"^nanobind/|^pybind11/|^Python\.h$": (
        "trainer_client/python/",
        "dataworker/stage/images/",
    ),
}
# Threads are made here and nowhere else (docs/threads.md).
THREAD = re.compile(
    r"std::j?thread\s*[({]|std::j?thread\s+\w+_?\s*[;({=]|pthread_create|std::async"
)
THREADS_ALLOWED = (
    "net/reactor",
    "dataworker/exec/",
    "coordinator/state/journal",
    "remote/object_client",
    "trainer_client/session/copy_team",
)


def layer(name):
    parts = name.split("/")
    if parts[0] == "ops" and len(parts) > 2:
        return f"ops/{parts[1]}" if parts[1] in ("core", "torch", "vision") else "ops/*"
    if name == "ops/CMakeLists.txt":
        return "ops/*"
    if name.startswith("cli/"):
        return "cli"
    if name.startswith("headrace/"):  # trainer_client/include, the public header
        return "trainer_client"
    return parts[0]


def component(name):
    """The folder of an operator, which other operators must not include."""
    return name.split("/")[1] if layer(name) == "ops/*" else None


def wrong_include(path, name):
    mine, theirs = layer(str(path)), layer(name)
    if theirs not in ALLOWED:
        return None  # beside the including file, or generated; a missing file fails the build
    if mine == theirs:
        return component(str(path)) != component(name)
    if theirs not in ALLOWED[mine]:
        return True
    only = EXCEPTIONS.get(mine, {}).get(theirs)
    return only is not None and name not in only


def test_layers_include_only_what_is_left_of_them():
    wrong = [
        f"{path}: {name}"
        for path in tree.sources()
        for system, name in tree.includes(path)
        if not system and wrong_include(path, name)
    ]
    assert wrong == []


@pytest.mark.parametrize("pattern", FENCES)
def test_library_headers_stay_behind_their_fence(pattern):
    wrong = [
        f"{path}: {name}"
        for path in tree.sources()
        for _, name in tree.includes(path)
        if re.search(pattern, name) and not str(path).startswith(FENCES[pattern])
    ]
    assert wrong == []


def test_internal_headers_stay_in_their_folder():
    wrong = [
        f"{path}: {name}"
        for path in tree.sources()
        for _, name in tree.includes(path)
        if name.endswith("_internal.h") and "/" in name and not name.startswith(f"{path.parent}/")
    ]
    assert wrong == []


def test_threads_are_made_in_few_places():
    wrong = [
        str(path)
        for path in tree.sources()
        if THREAD.search(tree.code(path)) and not str(path).startswith(THREADS_ALLOWED)
    ]
    assert wrong == []


def test_libraries_link_only_what_is_left_of_them():
    """A CMake library belongs to the folder that declares it, and links as its folder includes."""
    calls = [
        (layer(str(path)), re.split(r"\bTESTS\b", call)[0])
        for path in tree.files(".txt")
        if path.name == "CMakeLists.txt" and path.parts[0] in tree.CODE_FOLDERS
        for call in re.findall(r"headrace_library\(([^)]*)\)", tree.text(path))
    ]
    home = {"headrace_" + call.split()[0]: mine for mine, call in calls}
    home |= {"headrace_op_core": "ops/core", "headrace_ops": "ops/*"}  # ops/CMakeLists.txt has both
    wrong = [
        f"{call.split()[0]} ({mine}) links {target} ({home[target]})"
        for mine, call in calls
        for target in re.findall(r"\bheadrace_\w+", call)
        if home.get(target, mine) not in (mine, *ALLOWED.get(mine, ()))
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("path", "name", "wrong"),
    [
        ("base/x.cc", "net/reactor.h", True),
        ("net/x.cc", "schemas/wire/control.h", False),
        ("ops/flip/flip.cc", "ops/vision/resample/resample.h", False),
        ("ops/flip/flip.cc", "ops/crop/crop.h", True),
        ("ops/flip/flip.cc", "net/reactor.h", True),
        ("coordinator/split/split.cc", "ops/flip/flip.h", True),
        ("coordinator/split/split.cc", "dataworker/worker/worker_main.h", True),
        ("cli/worker.cc", "dataworker/worker/worker_main.h", False),
        ("cli/worker.cc", "dataworker/exec/executor.h", True),
        ("trainer_client/draws/draw_planner.cc", "ops/core/chain.h", False),
        ("trainer_client/draws/draw_planner.cc", "ops/vision/jpeg.h", True),
    ],
)
def test_the_table_itself(path, name, wrong):
    assert bool(wrong_include(path, name)) == wrong
