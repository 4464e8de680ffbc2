"""Puts the parts of a capture together."""

import os
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.utils.data import IterDataPipe, MapDataPipe
from torch.utils.data.dataloader import _DatasetKind

from ..native import binding, collate
from ..native.collate import name_of
from ..native.intact import OF_ARRAYS, OF_IMAGES, Changed, check_intact
from ..native.libraries import libraries
from ..native.plan import Local, NotNative, Plan, PythonStage
from ..native.torch_exp import add_torch_exp
from ..native.transforms import nodes_of
from ..process import fork_hooks
from ..service import options
from . import hooks, kept
from .datasets import Rows, only_tensors, rows_of
from .fingerprint import Fingerprint
from .known_hooks import Seeding, stock_seed


@dataclass
class Captured:
    """What can be done with a loader, and why not more."""

    path: str  # "native", "python" or "local"
    name: str  # for people: "ImageFolder(/data/train)"
    plan: Plan | None = None
    reasons: list[str] = field(default_factory=list)
    signature: str = ""
    rows: Rows | None = None
    seen: Fingerprint = field(default_factory=Fingerprint)
    remedy: str = ""  # what would change the first reason
    seeding: Seeding = stock_seed  # of native lanes
    by_pil: tuple[str, ...] = ()  # of a Python stage: as the bundle's entry in stage/host.py
    stays: str = ""  # why its code goes to no other host, and what would change that
    code: kept.Code = ()  # of a Python stage


def capture(loader: Any, rng: str, before: Captured | None = None) -> Captured:
    """The plan of a loader as it is now. `before`: an earlier capture, whose tables are kept where
    they still hold. `rng`: "auto", "torch" or "sample". Draws nothing and changes nothing."""
    name = describe(loader.dataset)
    try:
        _check_servable(loader)
        try:
            return _native(loader, rng, name, before)
        except (Changed, NotNative) as reason:
            return python_capture(loader, str(reason), rng, remedy=reason.remedy)
    except Local as reason:
        return Captured("local", name, reasons=[str(reason)], remedy=reason.remedy)


def python_capture(
    loader: Any,
    why: str,
    rng: str,
    by_pil: tuple[str, ...] = (),
    remedy: str = "",
) -> Captured:
    """The pipeline as code, or local with the reason. `why`: what has no native form, and `remedy`
    what would change it; `by_pil`: as Captured's."""
    iterable = loader._dataset_kind == _DatasetKind.Iterable
    name = describe(loader.dataset)
    try:
        if loader.num_workers == 0:
            raise Local(
                f"{why}, and with num_workers=0 it may use the program's own state",
                "num_workers=1 or more: then its code runs in other processes anyway",
            )
    except Local as reason:
        return Captured("local", name, reasons=[str(reason)], remedy=reason.remedy)
    rng = "sample" if rng == "sample" and not iterable else "torch"
    plan = Plan(name=name, rng=rng, lanes=loader.num_workers, libraries=libraries())
    plan.python = PythonStage(replayed=iterable)  # only such lanes may end by themselves
    stays = ""
    if options.from_environment().coordinator:
        from .elsewhere import code_for_others  # which takes a third of the package's import

        stage, reason, change = code_for_others(loader, by_pil)
        plan.python = stage or plan.python
        stays = f"{reason} ({change})" if stage is None else ""
    captured = Captured("python", name, plan, [why], plan.signature(), remedy=remedy, by_pil=by_pil)
    captured.stays, captured.code = stays, kept.code_of(loader)
    return captured


def describe(dataset: Any) -> str:
    """For people: "ImageFolder(/data/train)", "datasets.Dataset"."""
    root = getattr(dataset, "root", None)
    name = type(dataset).__qualname__
    if name in ("Dataset", "IterableDataset"):  # a library's, as Hugging Face's are
        name = f"{type(dataset).__module__.partition('.')[0]}.{name}"
    inner = getattr(dataset, "dataset", None)
    if isinstance(root, str | os.PathLike):
        return f"{name}({root})"
    return f"{name}({describe(inner)})" if inner is not None else name


def _check_servable(loader: Any) -> None:
    if isinstance(loader.dataset, MapDataPipe | IterDataPipe):
        raise Local(
            "DataPipes rewrite their graph in each worker",
            "a map-style dataset, with __getitem__ and __len__",
        )
    if hook := fork_hooks.around_forks():
        raise Local(hook, "register it with after_in_child alone")


def _native(loader: Any, rng: str, name: str, before: Captured | None) -> Captured:
    if loader._dataset_kind == _DatasetKind.Iterable:
        raise NotNative(
            "an IterableDataset makes its own order",
            "a map-style dataset, with __getitem__ and __len__",
        )
    collate.check_native(loader)
    if loader.num_workers > 0 and (hook := fork_hooks.in_children()):
        raise NotNative(hook, "leave it out, or set in worker_init_fn what it sets")
    seeding = hooks.seeding_of(loader.worker_init_fn if loader.num_workers > 0 else None)
    if torch.get_default_dtype() != torch.float32:
        raise NotNative(
            f"torch's default dtype is {torch.get_default_dtype()}",
            "torch.set_default_dtype(torch.float32), and set the model's dtype instead",
        )
    if torch.get_default_device().type != "cpu":
        raise NotNative(
            f"torch's default device is {torch.get_default_device()}",
            "leave the default device at cpu, and move model and batches",
        )
    if loader.num_workers == 0 and only_tensors(loader.dataset):
        raise Local(
            "with num_workers=0 its tensors may change before any batch, and nobody copies rows "
            "of them faster than the program itself",
            "nothing: a row of a tensor is cheap to read",
        )
    rows, seen, row_map = _rows(loader.dataset, before)
    plan = Plan(name, rows.leaves, row_map, fields=rows.fields, libraries=libraries())
    if rows.source is not None:
        plan.chain = [rows.source, *_transforms(rows)]
    check_intact(OF_ARRAYS if rows.source is None else OF_IMAGES)
    plan.rng = _rng_mode(plan.is_random, rng)
    plan.lanes = max(1, loader.num_workers)
    try:
        add_torch_exp(plan)
        binding.check_plan(plan.to_dict())
    except binding.UnsupportedError as error:
        raise NotNative(str(error)) from None
    except ValueError as error:  # the framework refuses these arguments too, when it is called
        raise NotNative(str(error)) from None
    return Captured("native", name, plan, [], plan.signature(), rows, seen, seeding=seeding)


def _rows(dataset: Any, before: Captured | None) -> tuple[Rows, Fingerprint, Any]:
    if before is not None and before.rows is not None and before.seen.same():
        return before.rows, before.seen, before.plan.row_map
    seen = Fingerprint()
    rows = rows_of(dataset, seen)
    if rows.count == 0:
        raise NotNative("the dataset is empty", "nothing: it has no batch")
    return rows, seen, None if rows.rows is None else binding.Blob(rows.rows)


def _transforms(rows: Rows) -> list[Any]:
    for dataset in rows.datasets:
        if dataset.target_transform is not None:
            raise NotNative(
                f"target_transform={name_of(dataset.target_transform)} is Python code",
                "change the labels in the dataset once, or in the training loop",
            )
    chains = [nodes_of(dataset.transform) for dataset in rows.datasets]
    if any(chain != chains[0] for chain in chains):
        raise NotNative(
            "the datasets of a ConcatDataset have different transforms",
            "give each transform a loader of its own",
        )
    return chains[0]


def _rng_mode(is_random: bool, rng: str) -> str:
    if not is_random:
        return "none"
    return "sample" if rng == "sample" else "torch"
