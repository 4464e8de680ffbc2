"""torch's own part of an iterator's construction, called as torch's iterators call it.

Warnings of it ("pin_memory is set but no accelerator is found") name their caller's file and module,
and programs filter by them: both must be torch's.
"""

import dis
import types
from typing import Any

from torch.utils.data import dataloader


def _call_of(cls: Any) -> types.FunctionType:
    """Calls _BaseDataLoaderIter.__init__ from where `cls.__init__` does."""
    stock: Any = cls.__init__
    call = lambda self, loader, base: base(self, loader)  # noqa: E731
    code = call.__code__.replace(
        co_filename=stock.__code__.co_filename,
        co_name="__init__",
        co_firstlineno=_line_of_super(stock.__code__),
    )
    return types.FunctionType(code, vars(dataloader))


def _line_of_super(code: types.CodeType) -> int:
    lines = dict(dis.findlinestarts(code))
    line = code.co_firstlineno
    for step in dis.get_instructions(code):
        line = lines.get(step.offset) or line
        if step.argval == "__init__":
            return line
    return code.co_firstlineno


_calls = {
    lazy: _call_of(cls)
    for lazy, cls in (
        (True, dataloader._SingleProcessDataLoaderIter),
        (False, dataloader._MultiProcessingDataLoaderIter),
    )
}


def init(iterator: Any, loader: Any) -> None:
    """_BaseDataLoaderIter.__init__."""
    _calls[loader.num_workers == 0](iterator, loader, dataloader._BaseDataLoaderIter.__init__)
