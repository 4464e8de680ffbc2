"""Where a file's statements begin and end, told from its lines: compiling one of them takes a fraction
of what the file takes.

What is found here is a guess. A text of several lines may hold a line that looks like a statement's first.
Who compiles the lines has to see whether they are what they should be.
"""

import re

# Goes on with a statement, though it is not indented: brackets that close, comments, clauses.
_GOES_ON = re.compile(r"[\s)\]}#]|(?:else|elif|except|finally)\b|$")


def block_of(lines: list[str], number: int) -> tuple[int, int]:
    """The statement of the module's that line `number` is in: its first line, and the one after its last.
    Lines are counted from 1, as Python does."""
    first = number
    while first > 1 and _GOES_ON.match(lines[first - 1]):
        first -= 1
    last = number
    while last < len(lines) and _GOES_ON.match(lines[last]):
        last += 1
    # Decorators are a part of what comes after them.
    while last < len(lines) and lines[number - 1].startswith("@"):
        number = last + 1
        last = number
        while last < len(lines) and _GOES_ON.match(lines[last]):
            last += 1
    return first, last + 1
