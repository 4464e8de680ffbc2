"""How the modules that read code call each other.

A call runs statements, a statement has expressions, and an expression calls: each module here would
import each other one. So what is called from below goes through this table, which travels with the
reading (Interpreter.rules) and which prove.py fills.
"""

import ast
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .arguments import Arguments
from .frames import Frame


@dataclass(frozen=True, slots=True)
class Rules:
    """The first argument of each is the Interpreter, the second the frame that is read."""

    # What is called, and what it is given.
    apply: Callable[[Any, Frame, frozenset, Arguments], frozenset]
    # A function of Python. No frame: the outermost one.
    run: Callable[[Any, Frame | None, Any, list[frozenset]], frozenset]
    function: Callable[[Any, Frame, Any, Arguments], frozenset]
    call: Callable[[Any, Frame, ast.Call], frozenset]
    call_method: Callable[[Any, Frame, Any, str, Arguments], frozenset]
    special: Callable[[Any, Frame, Any, str, list[frozenset]], frozenset | None]
    run_block: Callable[[Any, Frame, list[ast.stmt]], None]
    run_statement: Callable[[Any, Frame, ast.stmt], None]
    assign: Callable[[Any, Frame, ast.expr, frozenset], None]
