"""A class is one thing: it fits in a head, and lies in one file."""

import re
from collections import defaultdict

import pytest
from support import cpp_classes, tree

MOST_METHODS = 25
# What several classes of one name are: each folder has its own.
SHARED_NAMES = {"Status", "Result"}


def test_classes_have_few_methods():
    """At most 25 public and private methods; more where the class's comment says why ("Methods: ...")."""
    large = [
        f"{each.path}: {each.name} has {each.methods}"
        for path in tree.sources()
        for each in cpp_classes.classes(path)
        if each.methods > MOST_METHODS and not each.reason
    ]
    assert large == []


def test_a_class_lies_in_one_file():
    files = defaultdict(set)
    for path in tree.sources():
        if path.suffix == ".cc":
            for name in cpp_classes.definitions(path):
                files[path.parent, name].add(path.name)
    cut = [
        f"{folder}: {name} in {sorted(names)}"
        for (folder, name), names in files.items()
        if len(names) > 1 and name not in SHARED_NAMES
    ]
    assert cut == []


@pytest.mark.parametrize(
    ("text", "methods"),
    [
        ("class A { void F(); int G() const { return H(1); } int x_ = F(2); };", 2),
        ("struct A { A() = default; A(const A&) = delete; ~A(); int operator()(int); };", 2),
        ('class A : public B { std::function<void(int)> f_; /* void G(); */ void H("F()"); };', 1),
    ],
)
def test_the_count_itself(text, methods, monkeypatch):
    monkeypatch.setattr(tree, "text", lambda path: re.sub(r"; ", ";\n", text))
    assert [each.methods for each in cpp_classes.classes("x.h")][0] == methods
