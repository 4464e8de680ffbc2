"""Whether the program's own code may run on other hosts, too.

Only on evidence: its text is proved to keep no state from sample to sample, or declared to. It was not
seen to keep some (kept.py). What of this process it could read is shipped with it (process_state.py), and
it pickles. What it makes there is compared with what this host makes, too (headrace/admission/suspicion.py). Why so:
docs/adr/0028-elsewhere.md.
"""

from typing import Any

from torch.utils.data.dataloader import _DatasetKind

from ..native.plan import Local, PythonStage
from ..process import fork_hooks
from ..service.bad_sample_policy import policy_of
from . import kept
from .proof.proof import Code
from .proof.prove import prove
from .python_stage import pack


def code_for_others(loader: Any, by_pil: tuple[str, ...]) -> tuple[PythonStage | None, str, str]:
    """The code to ship, or None, why it stays on this host and what would change that. `by_pil`: as
    StagePlan's. Runs the reduce functions of what it pickles, and no other code of the program."""
    if loader._dataset_kind == _DatasetKind.Iterable:
        needs = "a map-style dataset, with __getitem__ and __len__"
        return None, "an IterableDataset is iterated by one process a lane", needs
    if policy_of(loader).guards:
        needs = "on_bad_sample=raise and no --sample-deadline"
        return None, "bad samples are handled in the loader's own workers", needs
    if hook := fork_hooks.in_children():
        return None, hook, "register it where the program's own workers need it alone"
    if seen := kept.why(kept.code_of(loader)):
        return None, seen, kept.remedy()
    proof = prove(loader)
    if not proof.proved:
        return None, proof.reason, proof.remedy
    try:
        return pack(loader, list(by_pil), fills=proof.code is Code.CLEAN), "", ""
    except Local as stays:
        return None, str(stays), stays.remedy
