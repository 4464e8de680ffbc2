"""How the modules that read code call each other.

A call runs statements, a statement has expressions, and an expression calls: each module here would
import each other one. So what is called from below goes through this table, which travels with the
reading (Interpreter.rules) and which prove.py fills.
"""

import ast
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from ...records import dataclass
from .arguments import Arguments
from .frames import Frame
from .values import Value

if TYPE_CHECKING:
    from .interpreter import Interpreter


@dataclass(frozen=True, slots=True)
class Rules:
    """The first argument of each is the Interpreter, the second the frame that is read."""

    # What is called, and what it is given.
    apply: Callable[["Interpreter", Frame, Value, Arguments], Value]
    # A function of Python. No frame: the outermost one.
    run: Callable[["Interpreter", Frame | None, Any, list[Value]], Value]
    function: Callable[["Interpreter", Frame, Any, Arguments], Value]
    call: Callable[["Interpreter", Frame, ast.Call], Value]
    call_method: Callable[["Interpreter", Frame, Any, str, Arguments], Value]
    special: Callable[["Interpreter", Frame, Any, str, list[Value]], Value | None]
    run_block: Callable[["Interpreter", Frame, list[ast.stmt]], None]
    run_statement: Callable[["Interpreter", Frame, ast.stmt], None]
    assign: Callable[["Interpreter", Frame, ast.expr, Value], None]
