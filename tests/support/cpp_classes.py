"""Classes of our C++ files, as the architecture tests see them: by text, not by a compiler."""

import re
from typing import NamedTuple

from support import tree

_HEAD = re.compile(r"\b(?:class|struct)\s+(\w+)\s*(?:final\s*)?(?::[^{;()]*)?\{")
_NOT_METHODS = ("using", "friend", "static_assert", "typedef", "struct", "class", "enum", "return")
_VARIABLE = re.compile(r"^[\w:<>,\s*&]+\s\w+_?\s*=")


class Class(NamedTuple):
    path: str
    name: str
    methods: int  # public and private; none that is defaulted or deleted
    reason: bool  # the comment before it says why it has that many ("Methods: ...")


def _members(text, begin):
    """What stands in a class's own braces, without what its methods' bodies hold."""
    depth, body = 0, ""
    for at in range(begin, len(text)):
        if text[at] == "{":
            depth += 1
            if depth == 2:
                body += ";"
        elif text[at] == "}":
            depth -= 1
            if depth == 0:
                break
        elif depth == 1:
            body += text[at]
    return body.split(";")


def _is_method(member):
    member = re.sub(r"^\s*(public|private|protected)\s*:\s*", "", member).strip()
    while "<" in member and re.search(r"<[^<>]*>", member):  # std::function<void(int)> is none
        member = re.sub(r"<[^<>]*>", "", member)
    return (
        re.search(r"[\w~]\s*\(|\boperator", member) is not None
        and not member.startswith((*_NOT_METHODS, ":", ","))
        and not re.search(r"=\s*(default|delete)$", member)
        and not _VARIABLE.match(member)
    )


def classes(path):
    text = tree.text(path)
    # Comments and strings become blanks, so that places stay what they are.
    code = re.sub(
        r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"',
        lambda found: re.sub(r"[^\n]", " ", found[0]),
        text,
        flags=re.DOTALL,
    )
    found = []
    for head in _HEAD.finditer(code):
        before = text[: head.start()].splitlines()
        comment = []
        while before and before[-1].lstrip().startswith(("//", "template")):
            comment.append(before.pop())
        found.append(
            Class(
                str(path),
                head[1],
                sum(_is_method(member) for member in _members(code, head.end() - 1)),
                any("Methods:" in line for line in comment),
            )
        )
    return found


def definitions(path):
    """Names of the classes of which the file defines methods outside of their braces."""
    return {
        name
        for name in re.findall(
            r"^(?!\s)(?:[\w:<>,*&\[\]\s]*[\s*&])?(\w+)::~?\w+\(", tree.code(path), re.MULTILINE
        )
        if name[0].isupper()
    }
