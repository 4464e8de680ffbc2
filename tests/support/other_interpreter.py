"""Another host, for one program: an interpreter that was there before the program changed anything."""

from collections.abc import Sequence
from typing import Any

from headrace.capture import python_stage
from torch.utils.data import DataLoader

from support.stage_peer import Base, Stage


class Elsewhere:
    """Makes samples of the program's code there. Its interpreter starts here and now."""

    def __init__(self, **named: Any) -> None:
        """`named`: as Base's."""
        self._base = Base(**named)

    def __enter__(self) -> "Elsewhere":
        return self

    def __exit__(self, *_: object) -> None:
        self._base.close()

    def samples(self, dataset: Any, keys: Sequence[int] = (0,), **loader: Any) -> list[Any]:
        """What a worker of another host makes of them, as the first batch of a lane. Raises Local with
        what keeps the code here; an AssertionError with what keeps a worker from having it."""
        loader = {"collate_fn": list, "num_workers": 1, **loader}
        packed = python_stage.pack(DataLoader(dataset, **loader), [])
        with Stage(None, base=self._base, tried=True, content=bytes(packed.bundle)) as stage:
            assert not stage.problem, stage.problem
            return stage.host().ask(list(keys)).value()
