"""How much of a loader a program will still take, as far as that can be seen.

The coordinator orders jobs by it. Nothing here imports a framework, or asks a sampler of the program's
own, whose length may draw random numbers: what cannot be seen without that is not known.
"""

import math
import sys
import weakref
from types import FrameType
from typing import Any

from torch.utils.data import BatchSampler
from torch.utils.data.dataloader import _InfiniteConstantSampler

from ..service import options
from .position import PLAIN, sampler_of

UNKNOWN = -1
# Sampler classes whose length is arithmetic, beside torch's own, by the module that has to be there.
_PLAIN_OF = {
    "accelerate.data_loader": ("BatchSamplerShard", "SeedableRandomSampler", "SkipBatchSampler"),
}
# The training loops of frameworks, by method: the modules and classes of its object.
_LIGHTNING = ("lightning.pytorch", "pytorch_lightning")
_TRAINING = {
    "_inner_training_loop": (("transformers.trainer", "Trainer"),),
    "run": tuple((f"{top}.loops.fit_loop", "_FitLoop") for top in _LIGHTNING),
}
_EVALUATION = {
    "evaluation_loop": _TRAINING["_inner_training_loop"],
    "prediction_loop": _TRAINING["_inner_training_loop"],
}
_EVALUATION_RUN = tuple(
    (f"{top}.loops.{file}", name)
    for top in _LIGHTNING
    for file, name in (
        ("evaluation_loop", "_EvaluationLoop"),
        ("prediction_loop", "_PredictionLoop"),
    )
)


class Begun:
    """Counts the iterations of loaders. A loader that takes the place of an equal one that is gone
    goes on with its count: some programs make a new one for each epoch."""

    def __init__(self) -> None:
        self._counts: weakref.WeakKeyDictionary[Any, int] = weakref.WeakKeyDictionary()
        self._last: dict[Any, tuple[weakref.ref[Any], int]] = {}

    def another(self, owner: Any, kind: Any) -> int:
        """The number of the iteration that begins, from 1 on. `owner`: what lives as long as the
        loader; `kind`: equal for loaders of the same data."""
        count = self._counts.get(owner)
        if count is None:
            before = self._last.get(kind)
            count = before[1] if before is not None and before[0]() is None else 0
        self._counts[owner] = count + 1
        self._last[kind] = (weakref.ref(owner), count + 1)
        return count + 1


_BEGUN = Begun()


def tell(session: Any, loader: Any, owner: Any, name: str, passed: int) -> None:
    """Says it to the coordinator, when an iteration begins in a session; None: there is none. The
    loader may be gone. All else is as for remaining()."""
    if session is not None and session.raw is not None:
        epochs = options.from_environment().epochs
        known = loader is not None
        session.raw.expect(remaining(loader, owner, name, epochs, passed) if known else UNKNOWN)


def remaining(loader: Any, owner: Any, name: str, epochs: int, passed: int) -> int:
    """The samples that the program will still take of `loader`, from the iteration on that begins
    now; UNKNOWN.

    `owner`: its state. `name`: of its data set. `epochs`: by the user's word; 0: none. `passed`:
    batches of this iteration that are not taken, because it is resumed after them.
    """
    batch = _batch_size(loader)
    if batch < 1:
        return UNKNOWN
    if epochs > 0:
        length = _length(loader, batch)
        if length < 0:
            return UNKNOWN
        begun = _BEGUN.another(owner, (name, length, batch))
        return max(0, max(1, epochs + 1 - begun) * length - passed * batch)
    batches = _batches_of_trainer(sys._getframe(1), loader, batch)
    return UNKNOWN if batches < 0 else max(0, batches - passed) * batch


def _batch_size(loader: Any) -> int:
    """0: it differs, or cannot be seen."""
    if loader.batch_sampler is None:
        return 1
    size = loader.batch_size
    if size is None:  # a batch sampler of the program's or the framework's
        size = getattr(loader.batch_sampler, "__dict__", {}).get("batch_size")
    return size if type(size) is int else 0


def _length(loader: Any, batch: int) -> int:
    """Samples of an iteration; UNKNOWN."""
    sampler, batches = sampler_of(loader), loader.batch_sampler
    if type(sampler) is _InfiniteConstantSampler:
        return UNKNOWN
    if not _is_plain(sampler) or not (batches is None or _is_plain(batches)):
        return UNKNOWN
    try:
        # Not len(loader): a framework's loader may ask more than its samplers.
        if batches is None:
            return len(sampler)
        if type(batches) is BatchSampler and not batches.drop_last:
            return len(sampler)
        return len(batches) * batch
    except Exception:  # a data set without a length
        return UNKNOWN


def _is_plain(sampler: Any) -> bool:
    if type(sampler) in (*PLAIN, BatchSampler):
        return True
    return any(
        type(sampler) is getattr(sys.modules.get(module), name, None)
        for module, names in _PLAIN_OF.items()
        for name in names
    )


def _batches_of_trainer(frame: FrameType | None, loader: Any, batch: int) -> int:
    """The batches that the training loop which this iteration begins in will still take; UNKNOWN:
    there is none, or it does not say."""
    tops = {module.partition(".")[0] for pairs in _TRAINING.values() for module, _ in pairs}
    if not any(top in sys.modules for top in tops):
        return UNKNOWN
    while frame is not None:
        name = frame.f_code.co_name
        if name in _TRAINING or name in _EVALUATION:
            owner = frame.f_locals.get("self")
            if _is_one_of(owner, _EVALUATION.get(name, _EVALUATION_RUN)):
                return UNKNOWN  # how often it evaluates, nobody says
            if _is_one_of(owner, _TRAINING.get(name, ())):
                try:
                    if name == "_inner_training_loop":
                        return _of_hugging_face(owner)
                    return _of_lightning(owner, loader, batch)
                except Exception:  # another release, with other attributes
                    return UNKNOWN
        frame = frame.f_back
    return UNKNOWN


def _is_one_of(owner: Any, classes: tuple[tuple[str, str], ...]) -> bool:
    for module, name in classes:
        known = getattr(sys.modules.get(module), name, None)
        if isinstance(known, type) and isinstance(owner, known):
            return True
    return False


def _of_hugging_face(trainer: Any) -> int:
    steps = trainer.state.max_steps - trainer.state.global_step
    return int(max(0, steps) * trainer.args.gradient_accumulation_steps)


def _of_lightning(loop: Any, loader: Any, batch: int) -> int:
    batches = math.inf
    if loop.max_epochs is not None and loop.max_epochs >= 0:
        epochs = loop.max_epochs - loop.epoch_progress.current.processed
        each = loop.max_batches
        if each == math.inf:  # it asks its loader when the first iteration has begun
            each = _limited(math.ceil(_length(loader, batch) / batch), loop.trainer)
        batches = epochs * each if each >= 0 else math.inf
    if loop.max_steps is not None and loop.max_steps >= 0:
        steps = loop.max_steps - loop.trainer.global_step
        batches = min(batches, steps * loop.trainer.accumulate_grad_batches)
    return int(max(0, batches)) if batches < math.inf else UNKNOWN


def _limited(batches: int, trainer: Any) -> int:
    limit = trainer.limit_train_batches
    return min(batches, limit) if type(limit) is int else int(batches * limit)
