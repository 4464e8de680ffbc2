"""The folders of the Python package depend on each other in one direction only, its modules too."""

import ast

import pytest
from support import tree

ROOT = "headrace"
SOURCES = ("trainer_client/python", "dataworker/stage/python")
# A folder imports itself and what is above it here, wherever in a function the import stands.
ORDER = (
    ("errors", "declared", "records", "version"),  # files of their own
    ("process",),  # what a Python process has: modules, forks, streams, generators
    ("_client", "_images", "native"),  # the extensions, and what has a native form
    ("objects",),  # data sets in stores
    ("shards",),  # data sets in parts of files and objects
    ("fs",),  # objects as files, for fsspec
    ("stage",),  # the program's code, on workers and in lanes
    ("service",),  # coordinator, sessions, options, report
    ("capture",),  # what a loader does
    ("admission",),  # whether both ways give the same samples
    ("serve",),  # the iterators
    ("loader",),  # where loaders are taken over
    ("explain",),  # what the command line shows of them
    ("",),  # headrace/__init__.py, which puts them together
    ("bootstrap",),  # begins all in a program that knows nothing of it
)
RANK = {folder: rank for rank, folders in enumerate(ORDER) for folder in folders}


def modules():
    """Path by name; a package has the name of its folder."""
    found = {}
    for path in tree.files(".py"):
        source = next((s for s in SOURCES if str(path).startswith(f"{s}/{ROOT}/")), None)
        if source is not None:
            parts = path.relative_to(source).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def folder(name):
    return name.split(".")[1] if "." in name else ""


def imported(importer, node, known, package):
    """Names in the package that an import refers to. `package`: what the importer is a part of."""
    if isinstance(node, ast.Import):
        names = [alias.name for alias in node.names]
    elif isinstance(node, ast.ImportFrom):
        home = node.module or ""
        if node.level:
            above = package.split(".")[: len(package.split(".")) - (node.level - 1)]
            home = ".".join([*above, *([node.module] if node.module else [])])
        names = [f"{home}.{alias.name}" for alias in node.names]
    elif isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "import_module":
        name = node.args[0].value if isinstance(node.args[0], ast.Constant) else ""
        names = [package + name if name.startswith(".") else name]
    else:
        return []
    ours = [name for name in names if name.split(".")[0] == ROOT]
    # An extension is no source file; anything else that is none is a name within its module.
    extensions = {f"{ROOT}._client", f"{ROOT}._images"}
    ours = [n if n in known or n in extensions else n.rpartition(".")[0] for n in ours]
    return [name for name in ours if name and name != importer]


def is_for_types(node):
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def imports(name, types=True):
    """Of a module. types: also what only type checkers see."""
    path = MODULES[name]
    package = name if path.name == "__init__.py" else name.rpartition(".")[0]
    parsed = ast.parse(tree.text(path))
    only_types = {id(n) for top in ast.walk(parsed) if is_for_types(top) for n in ast.walk(top)}
    return {
        found
        for node in ast.walk(parsed)
        if types or id(node) not in only_types
        for found in imported(name, node, MODULES, package)
    }


def wrong_import(importer, name):
    return RANK[folder(importer)] < RANK[folder(name)]


def circles(edges):
    """Modules that lead back to themselves, by what they import; the sets that belong together."""
    reached = {}
    for start in edges:
        seen, todo = set(), [start]
        while todo:
            new = edges.get(todo.pop(), set()) - seen
            seen |= new
            todo += new
        reached[start] = seen
    found = {
        frozenset(b for b in seen if a in reached.get(b, ()))
        for a, seen in reached.items()
        if a in seen
    }
    return sorted(map(sorted, found))


def with_packages(name, found):
    """Importing a module runs the packages that it is in, unless the importer is in them, too."""
    parents = {".".join(one.split(".")[:n]) for one in found for n in range(1, one.count(".") + 1)}
    return found | {parent for parent in parents if not f"{name}.".startswith(f"{parent}.")}


def test_the_whole_package_is_looked_at():
    assert {"headrace", "headrace.stage.host", "headrace.capture.proof.known"} <= set(MODULES)
    assert {folder(name) for name in MODULES} == set(RANK) - {"_client", "_images"}


def test_folders_import_only_what_is_left_of_them():
    wrong = [
        f"{name}: {found}"
        for name in MODULES
        for found in sorted(imports(name))
        if wrong_import(name, found)
    ]
    assert wrong == []


def test_no_module_leads_back_to_itself():
    edges = {name: with_packages(name, imports(name, types=False)) for name in MODULES}
    assert circles(edges) == []


@pytest.mark.parametrize(
    ("importer", "code", "found", "wrong"),
    [
        ("serve.lazy", "from ..capture.live import Live", "capture.live", False),
        ("capture.live", "from ..serve import lazy", "serve.lazy", True),
        ("capture.live", "from . import capture", "capture.capture", False),
        ("capture.proof.plain", "from ...declared import pure", "declared", False),
        ("stage.images", "from .. import _images", "_images", False),
        ("process.sockets", "from .. import _client", "_client", True),
        ("service.report", "from .. import __version__", "", True),
        ("stage.base", "importlib.import_module('.recipes', __package__)", "stage.recipes", False),
        ("native.plan", "import headrace.service.report", "service.report", True),
        ("native.plan", "def f():\n    from headrace.stage.lane import g", "stage.lane", True),
        (
            "bootstrap.sitecustomize",
            "x.import_module('headrace.loader.hook')",
            "loader.hook",
            False,
        ),
        ("native.plan", "import torch", None, False),
    ],
)
def test_the_table_itself(importer, code, found, wrong):
    importer = f"{ROOT}.{importer}"
    nodes = ast.walk(ast.parse(code))
    package = importer.rpartition(".")[0]
    names = [name for node in nodes for name in imported(importer, node, MODULES, package)]
    assert names == ([] if found is None else [f"{ROOT}.{found}".rstrip(".")])
    assert [wrong_import(importer, name) for name in names] == [wrong] * len(names)


def test_circles_are_found():
    edges = {"a": {"b"}, "b": {"c"}, "c": {"b"}, "d": {"a", "d"}}
    assert circles(edges) == [["b", "c"], ["d"]]
    assert with_packages("x.a", {"y.k.b", "x.c"}) == {"y.k.b", "y.k", "y", "x.c"}


def test_data_classes_are_made_when_they_are_used():
    """The standard library's decorator costs each program 0.25 ms a class (headrace/records.py)."""
    at_once = {
        name
        for name, path in MODULES.items()
        for node in ast.walk(ast.parse(tree.text(path)))
        if isinstance(node, ast.ImportFrom) and node.module == "dataclasses"
        if any(alias.name == "dataclass" for alias in node.names)
    }
    # state: asks the class for its fields.
    assert at_once == {"headrace.records", "headrace.serve.state"}
