"""The conda recipe names what CMake looks for and what the package needs, as rattler-build reads it. Nothing here
can build it."""

import re
from pathlib import Path

import pytest
import tomllib
from rattler_build import (
    PlatformConfig,
    RecipeParseError,
    RenderConfig,
    Stage0Recipe,
    VariantConfig,
)

ROOT = Path(__file__).resolve().parents[2]
# What conda-forge calls the Debian package that CMake names.
NAMES = {
    "pkg-config": "pkg-config",
    "cppzmq-dev": "cppzmq",
    "libflatbuffers-dev": "flatbuffers",
    "flatbuffers-compiler": "flatbuffers",
    "libspdlog-dev": "spdlog",
    "libtbb-dev": "tbb-devel",
    "libcli11-dev": "cli11",
    "nlohmann-json3-dev": "nlohmann_json",
    "libsqlite3-dev": "libsqlite",
    "libjpeg62-turbo-dev": "libjpeg-turbo",
    "zlib1g-dev": "zlib",
    "libdeflate-dev": "libdeflate",
    "libxxhash-dev": "xxhash",
    "libseccomp-dev": "libseccomp",
    "libcurl4-openssl-dev": "libcurl",
    "libmicrohttpd-dev": "libmicrohttpd",
    "libsodium-dev": "libsodium",
}
OF_TESTS = {"libpng-dev", "libgtest-dev", "libbenchmark-dev"}
# Of conda-forge's own settings, those that the recipe uses.
FORGE = VariantConfig.from_yaml(
    "python: [3.11.* *_cpython]\nc_stdlib: [sysroot]\nc_stdlib_version: ['2.28']\n"
)


def recipe():
    """Unknown keys, versions that are none, and templates that are not filled are errors of rattler-build's."""
    read = Stage0Recipe.from_file(ROOT / "deploy" / "conda" / "recipe.yaml")
    linux = RenderConfig(platform=PlatformConfig(target_platform="linux-64"))
    (rendered,) = read.render(FORGE, linux)
    return rendered.recipe.to_dict()


def names(requirements):
    return {re.split(r"[ <>=]", entry)[0] for entry in requirements}


def test_it_has_every_library_that_cmake_looks_for():
    text = (ROOT / "cmake" / "HeadraceDependencies.cmake").read_text()
    wanted = set(re.findall(r"^\s*headrace_find(?:_pc)?\((\S+)", text, re.M))
    wanted |= set(re.findall(r"APPEND headrace_missing ([\w-]+)\)", text))
    wanted -= {"DEBIAN_PACKAGE"}
    assert wanted - OF_TESTS == set(NAMES)
    needs = recipe()["requirements"]
    held = names(needs["build"]) | names(needs["host"])
    assert {NAMES[name] for name in wanted - OF_TESTS} - held == set()
    assert {"libopencv", "gxx_linux-64"} <= held


def test_it_is_the_same_package_as_pips():
    with open(ROOT / "pyproject.toml", "rb") as file:
        whole = tomllib.load(file)
    project = whole["project"]
    made = recipe()
    assert made["package"] == {"name": project["name"], "version": project["version"]}
    assert names(made["requirements"]["run"]) == names(project["dependencies"]) | {"python"}
    assert f"python {project['requires-python']}" in made["requirements"]["run"]
    assert names(whole["build-system"]["requires"]) <= names(made["requirements"]["host"])
    assert made["about"]["license"] == project["license"]


@pytest.mark.parametrize(
    ("right", "wrong", "why"),
    [
        ("run_constraints", "run_constrained", "unknown field"),  # conda-build's word
        ("cloudpickle >=3", "cloudpickle >>3", "unable to parse version"),
    ],
)
def test_what_rattler_build_does_not_know_is_an_error(right, wrong, why):
    text = (ROOT / "deploy" / "conda" / "recipe.yaml").read_text()
    assert text.count(right) == 1
    with pytest.raises(RecipeParseError, match=why):
        Stage0Recipe.from_yaml(text.replace(right, wrong)).render(FORGE)
