"""Puts the parts of a capture together."""

import multiprocessing
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch
from torch.utils.data import IterDataPipe, MapDataPipe
from torch.utils.data.dataloader import _DatasetKind

from ..native import binding, collate
from ..native.intact import OF_ARRAYS, OF_IMAGES, OF_TIMM, Changed, check_intact
from ..native.libraries import libraries
from ..native.plan import Local, NotNative, Plan, PythonStage
from ..native.structure import plain
from ..process import fork_hooks
from ..process.own_imports import Late
from ..service import options
from . import hooks, kept
from .captured import Captured, NativePlan, StagePlan, StaysLocal
from .datasets import Rows, only_tensors, rows_of
from .fingerprint import Fingerprint
from .known_hooks import Seeding, stock_numpy_seed, stock_seed
from .refusal import Refusal

if TYPE_CHECKING:
    from ..native import float_nodes, torch_exp
    from . import computed
else:
    computed = Late("headrace.capture.computed")
    float_nodes, torch_exp = Late("headrace.native.float_nodes"), Late("headrace.native.torch_exp")


def capture(loader: Any, rng: str, before: Captured | None = None) -> Captured:
    """The plan of a loader as it is now. `before`: an earlier capture, whose tables are kept where
    they still hold. `rng`: "auto", "torch" or "sample". Draws nothing and changes nothing."""
    name = describe(loader.dataset)
    try:
        _check_servable(loader)
        refusal = None if before is None or isinstance(before, NativePlan) else before.refusal
        if refusal is None or not refusal.holds(loader, rng):
            try:
                return _native(loader, rng, name, before)
            except Changed as reason:  # by the process, which may change back
                return python_capture(loader, str(reason), rng, remedy=reason.remedy)
            except NotNative as reason:
                refusal = Refusal(loader, rng, str(reason), reason.remedy)
        code = python_capture(loader, refusal.reason, rng, remedy=refusal.remedy)
        return replace(code, refusal=refusal)
    except Local as reason:
        return StaysLocal(name, str(reason), reason.remedy)


def python_capture(
    loader: Any,
    why: str,
    rng: str,
    by_pil: tuple[str, ...] = (),
    remedy: str = "",
) -> StagePlan | StaysLocal:
    """The pipeline as code, or local with the reason. `why`: what has no native form, and `remedy`
    what would change it; `by_pil`: as StagePlan's."""
    iterable = loader._dataset_kind == _DatasetKind.Iterable
    name = describe(loader.dataset)
    if loader.num_workers == 0:
        return StaysLocal(
            name,
            f"{why}, and with num_workers=0 it may use the program's own state",
            "num_workers=1 or more: then its code runs in other processes anyway",
        )
    rng = "sample" if rng == "sample" and not iterable else "torch"
    plan = Plan(name=name, rng=rng, lanes=loader.num_workers, libraries=libraries())
    stage = PythonStage(replayed=iterable)  # only such lanes may end by themselves
    stays = ""
    if options.from_environment().coordinator:
        from .elsewhere import code_for_others  # which takes a third of the package's import

        packed, reason, change = code_for_others(loader, by_pil)
        stage = packed or stage
        stays = f"{reason} ({change})" if packed is None else ""
    plan.python = stage
    code = kept.code_of(loader)
    return StagePlan(name, plan, stage, plan.signature(), why, remedy, by_pil, stays, code)


def describe(dataset: Any) -> str:
    """A readable name: "ImageFolder(/data/train)", "datasets.Dataset"."""
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


def _native(loader: Any, rng: str, name: str, before: Captured | None) -> NativePlan:
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
    if rows.index_types is not None or rows.opened is not None or rows.grounds:
        _check_forks(loader)
    plan = Plan(name, rows.leaves, row_map, fields=rows.fields, libraries=libraries())
    if loader.num_workers == 0 and rows.structure is not None:
        raise Local(
            "with num_workers=0 nobody reads rows of an array in a file faster than the program itself",
            "nothing: a row of an array is cheap to read",
        )
    fields = plain(len(rows.fields)) if rows.structure is None else rows.structure
    made = computed.Computed([], rows.fields, fields)
    if rows.source:
        made = computed.computed_of(rows)
    if loader.num_workers == 0:
        float_nodes.limit_to_one_thread(made.nodes)
    form = None
    if not collate.is_default(loader.collate_fn):
        made, form = computed.with_form(loader.collate_fn, made)
    if made.grounds:
        _check_forks(loader)
    plan.chain, plan.fields = made.nodes, made.fields
    check_intact(OF_IMAGES if rows.source else OF_ARRAYS)
    check_intact(OF_TIMM if plan.stands_for_timm else ())
    if made.targets is not None:
        _check_targets(loader, plan, rng)
    # The size of a picture is told where draws are planned; what is made beside it may need that.
    plan.rng = "torch" if made.targets is not None else _rng_mode(plan.is_random, rng)
    plan.lanes = max(1, loader.num_workers)
    try:
        torch_exp.add_torch_exp(plan)
        binding.check_plan(plan.to_dict())
    except binding.UnsupportedError as error:
        raise NotNative(str(error)) from None
    except ValueError as error:  # the framework refuses these arguments too, when it is called
        raise NotNative(str(error)) from None
    targets = made.targets
    if targets is not None:
        places = zip(plan.chain, binding.draw_places(plan.to_dict()), strict=True)
        targets = targets.placed({n.call: at for n, at in places if n.call and at >= 0}, rows.rows)
    of_python: Seeding = stock_seed
    of_numpy: Seeding = stock_numpy_seed
    if plan.draws_from_python and loader.num_workers > 0:
        of_python = hooks.python_seeding_of(loader.worker_init_fn)
        of_python(2**63 - 1, plan.lanes - 1)  # raises where its seeds are of no use
        if plan.draws_from_numpy:
            of_numpy = hooks.numpy_seeding_of(loader.worker_init_fn)
            if of_numpy(2**63 - 1, plan.lanes - 1) < 0:
                raise NotNative("worker_init_fn seeds `numpy` by other than an int of 32 bits")
    signature = plan.signature() + (repr(made.structure) if plan.is_graph else "")
    signature += repr(form) if form is not None else ""
    signature += targets.text if targets is not None else ""
    return NativePlan(
        name,
        plan,
        signature,
        rows,
        seen,
        made.structure,
        seeding,
        made.grounds,
        of_python,
        form,
        targets,
        of_numpy,
    )


def _check_targets(loader: Any, plan: Plan, rng: str) -> None:
    """Raises NotNative where the trainer can't make what is beside the pictures."""
    if loader.num_workers == 0:
        raise NotNative("with num_workers=0 what is made beside the pictures has no native form")
    if rng == "sample" and plan.is_random:
        raise NotNative(
            "with a seed for each sample the trainer does not know what was drawn for the pictures",
            "leave --rng at auto",
        )


def _check_forks(loader: Any) -> None:
    """Code of the program's own is followed as it is here. Workers that are not forks have their own
    copy, unpickled, and modules that are imported anew."""
    if loader.num_workers == 0:
        return
    if (context := loader.multiprocessing_context) is not None:
        method = context.get_start_method()
    else:  # asked without choosing one for the program
        method = multiprocessing.get_start_method(allow_none=True)
        method = method or multiprocessing.get_all_start_methods()[0]
    if method != "fork":
        raise NotNative(
            f"code of the program's own runs in workers that start by {method}",
            'multiprocessing_context="fork"',
        )


def _rows(dataset: Any, before: Captured | None) -> tuple[Rows, Fingerprint, Any]:
    if isinstance(before, NativePlan) and before.seen.same():
        return before.rows, before.seen, before.plan.row_map
    seen = Fingerprint()
    rows = rows_of(dataset, seen)
    if rows.count == 0:
        raise NotNative("the dataset is empty", "nothing: it has no batch")
    return rows, seen, None if rows.rows is None else binding.Blob(rows.rows)


def _rng_mode(is_random: bool, rng: str) -> str:
    if not is_random:
        return "none"
    return "sample" if rng == "sample" else "torch"
