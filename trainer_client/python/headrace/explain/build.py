"""The graph of a loader: what is captured, admitted, and split by a session that is really opened."""

import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

from torch.utils.data import BatchSampler
from torch.utils.data.dataloader import _DatasetKind

from ..capture import Captured, Local, NativePlan, NotNative, StagePlan, StaysLocal, hooks
from ..capture.datasets import rows_of
from ..capture.fingerprint import Fingerprint
from ..capture.proof.prove import prove_call, prove_parts
from ..capture.views import steps_of
from ..errors import WorkersUnavailable
from ..loader import seam
from ..native import collate, transforms
from ..native.collate import name_of
from ..native.plan import NATIVE, PURE, PYTHON, RANDOM, STATEFUL, Node
from ..records import dataclass
from ..serve.position import sampler_of
from ..service import options
from ..service.report import LoaderReport
from ..service.session import SessionHandle
from .graph import TRAINER, Graph, GraphNode
from .loaders import rng_of

_DEPTH = 8  # of datasets in datasets

_SAMPLER_WHY = "the order is the program's own, and the trainer alone knows what it has received"
_SAMPLER_REMEDY = "nothing has to change: all that it sends are row numbers"
_PICTURES = "JPEG files that its code opens with PIL are decoded, cropped and resized natively"
_CHAINS = "native where a Compose calls it on a PIL image"
_FINISHED = {
    "auto": "done in the trainer for batches that cross a network, where that costs less",
    "uint8": "done in the trainer for batches that cross a network",
}
_TARGETS = "what is made beside the pictures: boxes, labels"
_BY_TRAINER = "by torchvision's own functions, with what was drawn for the pictures"
# Operators that a worker does also where what is around them is left to the trainer.
_REORDER = ("flip", "random_horizontal_flip", "random_vertical_flip")
_SEEDS_ONLY = "it seeds `random` and `numpy` only, from which nothing native draws: not called"


def purity_of(part: Any, kind: str) -> tuple[str, str]:
    """Class of Python code and the evidence: a dataset, a transform, a collate_fn or a hook."""
    if kind == "hook":
        return RANDOM, ""  # it is called once a lane, before anything is made
    proof = prove_parts(part) if kind == "dataset" else prove_call(part, kind)
    if not proof.proved:
        return STATEFUL, proof.reason
    return (RANDOM, f"{proof.draws} draws random numbers") if proof.draws else (PURE, "")


@dataclass
class _Split:
    """What the coordinator said: after how many operators the cache point is, and before which one
    batches may cross a network."""

    cache_node: int = 0
    tail_node: int = 0


def graph_of(loader: Any) -> Graph:
    captured, problem = _decide(loader)
    split = _open(captured) if isinstance(captured, NativePlan) else _Split()
    rng = "" if isinstance(captured, StaysLocal) else captured.plan.rng
    graph = Graph(captured.name, loader.num_workers, captured.path, rng, _rng_reason(loader, rng))
    if not isinstance(captured, NativePlan):
        graph.reasons.append({"reason": captured.reason, "remedy": captured.remedy})
    if problem:
        graph.reasons.append({"reason": problem, "remedy": ""})
    _add_sampler(graph, loader)
    if isinstance(captured, NativePlan):
        _Native(graph, loader, captured, split).build()
    else:
        _Python(graph, loader, captured).build()
    return graph


def _decide(loader: Any) -> tuple[Captured, str]:
    """What the loader would do, and why no worker can."""
    state = seam.state_of(loader)
    try:
        return seam.decide(loader, state, rng_of(loader)), ""
    except WorkersUnavailable as error:
        assert state.captured is not None  # it is what no worker can run
        return state.captured, f"no worker can run it: {error}"


def _open(captured: NativePlan) -> _Split:
    with closing(SessionHandle(captured.plan, LoaderReport("", 0), 1, True)) as handle:
        raw = handle.raw
        return _Split(raw.cache_node, raw.tail_node)


def _rng_reason(loader: Any, rng: str) -> str:
    if rng == "":
        return "the stock loader's own random numbers"
    if rng == "none":
        return "nothing in it draws random numbers"
    if rng == "torch" and loader.num_workers == 0:
        return "num_workers=0: the program's own stream, as it is when each batch is asked for"
    if rng == "torch":
        return f"num_workers={loader.num_workers}: the streams of the stock loader's workers"
    return "as asked for: each sample has a seed of its own, whatever num_workers is"


def _add_sampler(graph: Graph, loader: Any) -> None:
    if loader._dataset_kind == _DatasetKind.Iterable:
        label = "the dataset itself (IterableDataset)"
    else:
        label = type(sampler_of(loader) or loader.sampler).__qualname__
        batches = loader.batch_sampler
        if type(batches) is BatchSampler:
            label += f", batches of {batches.batch_size}"
            label += ", the last one dropped if it is short" if batches.drop_last else ""
        elif batches is not None:
            label = f"{type(batches).__qualname__}({label})"
    graph.add(
        GraphNode(
            "sampler", label, STATEFUL, PYTHON, TRAINER, _SAMPLER_WHY, _SAMPLER_REMEDY
        )
    )  # fmt: skip


class _Native:
    """A plan of known operators."""

    def __init__(self, graph: Graph, loader: Any, captured: NativePlan, split: _Split) -> None:
        self.graph, self.loader, self.captured, self.split = graph, loader, captured, split

    def build(self) -> None:
        plan, split, graph = self.captured.plan, self.split, self.graph
        files = not plan.leaves[0].arrays
        of_each = plan.leaves[0].args.get("files", 1)
        what = "files" if files else "rows of arrays"
        if of_each > 1:
            what = f"samples of {of_each} files"
        label = f"{self.captured.name}: {self.captured.rows.count} {what}"
        source = graph.add(GraphNode("source", label, PURE, NATIVE))
        if files:
            graph.cache, graph.cached = source.id, "encoded"
        wire = options.from_environment().wire
        for i, node in enumerate(plan.chain):
            added = graph.add(GraphNode("operator", node.label, node.purity, node.form))
            if "draws_of" in node.args:
                added.note = f"with what {plan.chain[node.args['draws_of']].label} drew"
            if node.args.get("file"):
                added.note = f"file {node.args['file'] + 1} of each sample"
            if i + 1 == split.cache_node:
                graph.cache, graph.cached = added.id, "decoded"
            if split.tail_node and wire != "as-made" and i + 1 >= split.tail_node:
                if i + 1 == split.tail_node:
                    graph.wire = added.id
                elif node.op not in _REORDER:
                    added.note = _FINISHED[wire]
        if self.captured.targets is not None:
            graph.add(GraphNode("operator", _TARGETS, PURE, NATIVE, TRAINER, note=_BY_TRAINER))
        graph.add(GraphNode("collate", name_of(self.loader.collate_fn), PURE, NATIVE))
        if self.loader.worker_init_fn is not None:
            label = name_of(self.loader.worker_init_fn)
            graph.add(GraphNode("hook", label, PURE, NATIVE, note=_SEEDS_ONLY))
        graph.cut = graph.nodes[-1].id


class _Python:
    """The program's own code, on the workers or in the trainer."""

    def __init__(self, graph: Graph, loader: Any, captured: StagePlan | StaysLocal) -> None:
        self.graph, self.loader, self.captured = graph, loader, captured
        self.why = captured.reason  # of the whole
        self.local = isinstance(captured, StaysLocal)
        self.has_chains = isinstance(captured, StagePlan) and not captured.by_pil

    def build(self) -> None:
        loader, graph = self.loader, self.graph
        dataset = self.part("dataset", loader.dataset, self.check_dataset)
        dataset.label = self.captured.name
        if not self.local and "PIL" in sys.modules:
            dataset.note = _PICTURES
        if self.why.startswith("Image."):  # admission's name for a source that differs
            dataset.reason, dataset.remedy = self.why, self.captured.remedy
        for name, step in _steps(loader.dataset):
            self.transform(name, step, dataset)
        self.part("collate", loader.collate_fn, self.check_collate, "collate_fn")
        if loader.worker_init_fn is not None:
            hook = loader.worker_init_fn
            self.part("hook", hook, lambda: hooks.seeding_of(hook), "worker_init_fn")
        if not self.local:
            graph.cut = graph.nodes[-1].id
        elif all(node.reason != self.why for node in graph.nodes):
            dataset.reason, dataset.remedy = self.why, self.captured.remedy

    def check_dataset(self) -> None:
        if self.loader._dataset_kind == _DatasetKind.Iterable:
            raise NotNative(self.why, self.captured.remedy)
        rows_of(self.loader.dataset, Fingerprint())

    def check_collate(self) -> None:
        collate.check_native(self.loader)
        if collate.is_default(self.loader.collate_fn):
            return
        reason = f"collate_fn={name_of(self.loader.collate_fn)} is Python code"
        known = self.why.startswith(reason)  # which says where its code stops
        raise NotNative(
            self.why if known else reason,
            self.captured.remedy
            if known
            else "leave collate_fn out where torch's default_collate gives the same batch",
        )

    def part(self, kind: str, part: Any, check: Callable[[], Any], argument: str = "") -> GraphNode:
        """`argument`: of DataLoader, as reasons name it."""
        purity, evidence = purity_of(part, kind)
        node = self.graph.add(GraphNode(kind, _label(part), purity, PYTHON, evidence=evidence))
        refused = self.refusal(check)
        if not refused and kind in ("collate", "hook"):
            node.purity, node.evidence = PURE, ""  # torch's own collate; a hook that only seeds
        node.reason, node.remedy = refused or self.company()
        named = self.why.split("=")[0].split(".")[0].split("[")[0].split(" ")[0]
        mine = refused and self.why.startswith(node.reason)
        if self.local and (mine or named == (argument or kind)):
            node.reason, node.remedy = self.why, self.captured.remedy
        node.runs = TRAINER if self.local else node.runs
        return node

    def transform(self, name: str, step: Any, dataset: GraphNode) -> None:
        def check() -> Any:
            if name.startswith("target"):
                raise NotNative(f"{name}={name_of(step)} is Python code")
            return [transforms.nodes_of_leaf(single) for single in steps_of(step)[0]]

        node = self.part("transform", step, check)
        node.within = dataset.id
        native = _native_node(step)
        if native is not None:
            node.purity, node.evidence = native.purity, ""
            if self.has_chains:
                node.form, node.reason, node.remedy, node.note = NATIVE, "", "", _CHAINS
        if repr(step) in self.why:
            node.reason, node.remedy = self.why, self.captured.remedy

    def refusal(self, check: Callable[[], Any]) -> tuple[str, str] | None:
        """Why this part has no native form; None: it has."""
        try:
            check()
        except (NotNative, Local) as refused:
            return str(refused), refused.remedy
        return None

    def company(self) -> tuple[str, str]:
        """Why a part with a native form is Python code."""
        if self.local:
            return f"it stays with the rest: {self.why}", self.captured.remedy
        why = f"it has a native form, but a pipeline is native as a whole: {self.why}"
        return why, self.captured.remedy


def _native_node(step: Any) -> Node | None:
    try:
        return transforms.nodes_of_leaf(step)[0]
    except NotNative:
        return None


def _steps(dataset: Any) -> Iterator[tuple[str, Any]]:
    """The transforms that a dataset, or those inside of it, hold; equal ones once."""
    seen: set[str] = set()
    for leaf in _datasets(dataset, _DEPTH):
        held = getattr(leaf, "__dict__", {})
        for name in ("transforms", "transform", "target_transform"):
            value = held.get(name)
            if name == "transforms" and type(value).__name__ == "StandardTransform":
                continue  # torchvision's own pair of the other two
            if value is None or not callable(value):
                continue
            for i, step in enumerate(_opened(value)):
                key = f"{name} {i} {step!r}"
                if key not in seen:
                    seen.add(key)
                    yield name, step


def _opened(transform: Any) -> list[Any]:
    try:
        return transforms.leaves_of(transform)
    except NotNative:
        return [transform]


def _datasets(dataset: Any, depth: int) -> Iterator[Any]:
    inner = getattr(dataset, "__dict__", {})
    parts = inner.get("datasets")
    parts = parts if isinstance(parts, list | tuple) else [inner.get("dataset")]
    yield dataset
    for part in parts:
        if depth > 0 and hasattr(part, "__getitem__") and not isinstance(part, list | dict | str):
            yield from _datasets(part, depth - 1)


def _label(part: Any) -> str:
    """The part as the program wrote it, in one line."""
    if isinstance(part, type) or hasattr(part, "__qualname__"):
        return name_of(part)
    text = " ".join(repr(part).split())
    return name_of(part) if " at 0x" in text or " object" in text else text
