"""How a case is written: the body of a method `load(self, i)`, and what is around it."""

import textwrap
from typing import NamedTuple

EQUAL, NEVER, KEPT = "equal", "never", "kept"


class Case(NamedTuple):
    """`check`: equal is all that is asked; never: no result of `load` may be kept, either; kept: results are found.
    `getitem`: the body of __getitem__, which draws unless it is given. `between`: what the trainer does before an
    iteration (`data`, `epoch`). `compares`: as a lane compares, since only a comparison can tell."""

    name: str
    load: str
    before: str = ""
    init: str = "pass"
    getitem: str = "return self.load(i), random.random()"
    between: str = "pass"
    check: str = EQUAL
    compares: bool = False
    methods: str = ""

    def source(self) -> str:
        return "\n".join(
            [
                "import os, random, sys",
                "import numpy as np",
                "import torch",
                textwrap.dedent(self.before),
                "class Data:",
                "    def __init__(self, folder):",
                "        self.folder = folder",
                _indented(self.init),
                "    def __len__(self):",
                "        return 6",
                "    def load(self, i):",
                _indented(self.load),
                "    def __getitem__(self, i):",
                _indented(self.getitem),
                textwrap.indent(textwrap.dedent(self.methods), "    "),
                "def between(data, epoch):",
                textwrap.indent(textwrap.dedent(self.between), "    "),
            ]
        )


def _indented(text: str) -> str:
    return textwrap.indent(textwrap.dedent(text).strip("\n"), "        ")
