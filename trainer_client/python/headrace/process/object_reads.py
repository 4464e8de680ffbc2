"""Who reads objects in stores for this process, where that is not the process itself."""

from typing import Any, Protocol


class Reads(Protocol):
    def reader(self, store: Any, own: Any) -> Any:
        """What reads the store's objects, with the methods of `own`, which is this process's reader."""
        ...


# In a stage, its worker (stage/object_reads.py); None: this process.
by: Reads | None = None
