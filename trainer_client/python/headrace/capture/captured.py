"""What can be done with a loader: its plan as operators, as code, or nothing, and why not more."""

from typing import Any, ClassVar

from ..native.batch_form import BatchForm, batch_of, copies_of, tensors_of
from ..native.plan import Plan, PythonStage, labels_in
from ..native.structure import Structure
from ..native.structure import batch_of as collated
from ..native.targets import Targets, Unknown, stacked
from ..records import dataclass
from .datasets import Rows
from .fingerprint import Fingerprint
from .kept import Code
from .known_hooks import Seeding, stock_numpy_seed, stock_seed
from .refusal import Refusal
from .views import Grounds


@dataclass(frozen=True)
class NativePlan:
    """Operators alone."""

    path: ClassVar[str] = "native"  # as reports call it; decide by the class

    name: str  # for people: "ImageFolder(/data/train)"
    plan: Plan
    signature: str
    rows: Rows
    seen: Fingerprint
    structure: Structure  # of the samples, with the numbers of the plan's fields
    seeding: Seeding = stock_seed  # of its lanes
    grounds: tuple[Grounds, ...] = ()  # of transforms that are code of the program's
    python_seeding: Seeding = stock_seed  # the same of Python's, where the plan draws from it
    form: BatchForm | None = None  # of a batch; None: as torch's default_collate makes it
    targets: Targets | None = None  # the fields after those of the plan, which the trainer makes
    numpy_seeding: Seeding = stock_numpy_seed  # and of NumPy's

    def tensors(self, batch: Any) -> list[Any] | None:
        """The fields of a delivered batch: a tensor each, or a list with an entry for each sample. Empty
        where no sample was made. None: the program's code makes the batch, as targets may be others. No
        exception is being handled then, which what that code raises would name."""
        fields = tensors_of(batch.fields, self.form)
        if self.targets is None or not fields:
            return fields
        try:
            return fields + self.targets.columns(batch)
        except Unknown:
            return None

    def copies(self, fields: list[Any]) -> list[Any]:
        """The same, with what workers made in memory of its own."""
        count = len(self.plan.fields)
        return copies_of(fields[:count]) + fields[count:]

    @property
    def beside(self) -> list[int]:
        """The fields that the trainer makes."""
        before = len(self.plan.fields)
        count = 0 if self.targets is None else len(self.targets.fields)
        return list(range(before, before + count))

    def batch(self, fields: list[Any], device: str | None = None) -> Any:
        """The batch of these fields, as the program's collate_fn makes it. `device`: as batch_of's."""
        if self.form is None:
            count = len(self.plan.fields)
            joined = [*fields[:count], *map(stacked, fields[count:])]
            return collated(self.structure, joined)
        return batch_of(self.form.form, fields, device)

    def seeds(self, base_seed: int) -> list[int]:
        """Of the lanes' generators, as IterationOptions::lane_seeds."""
        lanes = range(self.plan.lanes)
        seeds = [self.seeding(base_seed, lane) % 2**64 for lane in lanes]
        if self.plan.draws_from_python:
            seeds += [self.python_seeding(base_seed, lane) for lane in lanes]
        if self.plan.draws_from_numpy:
            seeds += [self.numpy_seeding(base_seed, lane) for lane in lanes]
        return seeds

    @property
    def labels(self) -> list[int]:
        """The fields that are Python's int in a sample."""
        return labels_in(self.plan.fields)


@dataclass(frozen=True)
class StagePlan:
    """The pipeline as code, in lanes of this host; with a bundle on other hosts, too."""

    path: ClassVar[str] = "python"

    name: str
    plan: Plan
    stage: PythonStage  # of the plan
    signature: str
    reason: str  # why it has no native form
    remedy: str = ""  # what would change that
    by_pil: tuple[str, ...] = ()  # as the bundle's entry in stage/host.py
    stays: str = ""  # why its code goes to no other host, and what would change that
    code: Code = ()
    refusal: Refusal | None = None  # of a native form


@dataclass(frozen=True)
class StaysLocal:
    """Nothing leaves the trainer and its own workers."""

    path: ClassVar[str] = "local"

    name: str
    reason: str
    remedy: str = ""
    lasts: bool = True  # False: the next iter() may be served
    refusal: Refusal | None = None  # as StagePlan's


Served = NativePlan | StagePlan
Captured = Served | StaysLocal
