"""The conda recipe names what CMake looks for and what the package needs. Nothing here can build it."""

import re
from pathlib import Path

import jinja2
import tomllib
import yaml

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


def recipe():
    text = (ROOT / "deploy" / "conda" / "meta.yaml").read_text()
    strict = jinja2.Environment(undefined=jinja2.StrictUndefined)
    rendered = strict.from_string(text).render(PYTHON="python", compiler=lambda language: language)
    return yaml.safe_load(rendered)


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
    assert "libopencv" in held


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
