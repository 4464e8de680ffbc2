"""Whose functions run at each fork (process/fork_hooks.py)."""

import pytest
import torch
from headrace.process import fork_hooks


def hook_of(file: str) -> object:
    names: dict = {}
    exec(compile("def hook(): pass", file, "exec"), names)
    return names["hook"]


@pytest.mark.parametrize(
    "file",
    [
        "/somebody/.local/lib/python3.12/site-packages/library/forks.py",
        "/usr/lib/python3/dist-packages/library.py",
    ],
)
def test_libraries_of_other_places_than_this_environments(file):
    assert fork_hooks._first_own([hook_of(file)]) == ""


@pytest.mark.parametrize("file", ["/somebody/train.py", "/somebody/my-site-packages/train.py"])
def test_the_programs_own(file):
    assert "hook runs at each fork" in fork_hooks._first_own([hook_of(file)])


def test_torchs_wherever_it_lies(monkeypatch):
    """It registers this at its import."""
    monkeypatch.setattr(fork_hooks, "LIBRARIES", ())
    monkeypatch.setattr(fork_hooks, "_SITES", frozenset())
    assert fork_hooks._first_own([torch.get_num_threads]) == ""
