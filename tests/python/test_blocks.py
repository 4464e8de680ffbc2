"""Which lines of a file are compiled to find a function's syntax tree (capture/proof/source.py)."""

import ast
import functools
import linecache
import sys
import textwrap
import types

import pytest
import torch.utils.data.dataloader  # noqa: F401 - one of the files
from headrace.capture.proof import source
from headrace.capture.proof.blocks import block_of

TEXT = textwrap.dedent(
    '''\
    from __future__ import annotations
    import functools

    def plain(a: int):
        return a


    def decorated_by(*_):
        return lambda function: function

    @decorated_by(
        1,
    )
    @decorated_by(2)
    # about it
    def decorated(a):
        return a + 1

    class Outer(
        object,
    ):
        def __init__(self):
            super().__init__()
            self.__hidden = 1

        # between
        def method(self):
            return self.__hidden

    if functools is None:
        def chosen(a):
            return a
    else:
        def chosen(a):
            return a + 2

    def closing():
        kept = 3

        def inner(a):
            return a + kept

        return inner

    def with_text(a):
        """A line of it begins a line
    def of(the):
        file."""
        return a + 4

    pair = (lambda a: a, lambda a: a * 2)
    '''
)


@pytest.fixture
def module():
    """The text above as a module, and how much of it was compiled since."""
    made = types.ModuleType("text_of_blocks")
    name = "<blocks>"
    exec(compile(TEXT, name, "exec", dont_inherit=True), vars(made))
    linecache.cache[name] = (len(TEXT), None, TEXT.splitlines(keepends=True), name)
    yield made
    del linecache.cache[name]


@pytest.fixture
def compiled(monkeypatch):
    """The texts that were parsed."""
    texts = []
    parse = ast.parse

    def told(text, *args, **named):
        texts.append(text.lstrip("\n"))
        return parse(text, *args, **named)

    monkeypatch.setattr(ast, "parse", told)
    return texts


@pytest.mark.parametrize(
    ("of", "begins"),
    [
        (lambda m: m.plain, "def plain("),
        (lambda m: m.decorated, "@decorated_by(\n"),
        (lambda m: m.Outer.method, "class Outer("),
        (lambda m: m.Outer.__init__, "class Outer("),
        (lambda m: m.chosen, "if functools"),
        (lambda m: m.closing(), "def closing("),
    ],
)
def test_only_the_statement_of_a_function_is_compiled(module, compiled, of, begins):
    function = of(module)
    (tree,) = source.trees_of(function)
    assert tree.name == function.__name__
    assert tree.body[-1].lineno in {line for *_, line in function.__code__.co_lines()}
    (text,) = compiled
    assert text.startswith(begins)
    assert len(text) < len(TEXT) / 3


def test_where_a_statement_ends_otherwise_the_file_is_compiled(module, compiled):
    (tree,) = source.trees_of(module.with_text)
    assert ast.get_docstring(tree).startswith("A line of it")
    assert compiled[-1] == TEXT


def test_lambdas_of_one_line_are_all_told(module):
    assert len(source.trees_of(module.pair[1])) == 2


def test_another_function_on_the_same_lines_has_no_tree(module):
    code = compile(TEXT.replace("return a + 1", "return a - 1"), "<blocks>", "exec")
    other = {}
    exec(code, other)
    assert source.trees_of(module.decorated)
    assert not source.trees_of(other["decorated"])


def test_trees_are_those_of_the_whole_file():
    """Of all functions of some files."""
    for file in (functools, textwrap, sys.modules["torch.utils.data.dataloader"]):
        lines = linecache.getlines(file.__file__)
        whole = source._Part("".join(lines), file.__file__, 0)
        for value in vars(file).values():
            held = vars(value).values() if isinstance(value, type) else [value]
            for one in held:
                if isinstance(one, types.FunctionType) and one.__module__ == file.__name__:
                    key = one.__code__.co_firstlineno, one.__code__.co_name
                    mine = [ast.dump(t, include_attributes=True) for t in source.trees_of(one)]
                    theirs = [ast.dump(t, include_attributes=True) for t in whole.trees[key]]
                    assert mine == theirs


def test_lines_before_and_after_all_statements():
    assert block_of(["# only\n", "\n"], 2) == (1, 3)
    assert block_of(["@decorator\n"], 1) == (1, 2)
