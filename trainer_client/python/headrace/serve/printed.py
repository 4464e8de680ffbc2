"""What the program's code printed while a worker made a batch."""

import sys
from typing import Any


def show(batch: Any) -> None:
    """Marked with the worker as `headrace workers` names it."""
    for text, stream in ((batch.output, sys.stdout), (batch.error_output, sys.stderr)):
        if text:
            mark = f"[headrace worker {batch.worker}] "
            stream.writelines(mark + line for line in text.splitlines(keepends=True))
            stream.flush()
