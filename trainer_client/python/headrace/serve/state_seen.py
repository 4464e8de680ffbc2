"""What comes of code that was seen to keep state (docs/adr/0029-state-seen.md)."""

import time
from typing import Any

from ..admission.suspicion import judge, named
from ..capture import StagePlan, kept
from ..errors import BatchesDiffer
from ..native import binding
from ..service import options, service
from ..service.report import LoaderReport, say

# Longest wait for verdicts when an iteration ends, seconds.
PATIENCE = 10.0


def learn(change: Any, captured: StagePlan, report: LoaderReport) -> None:
    """Says it, and remembers it. Raises BatchesDiffer where the program has used batches that the
    lanes of this host make otherwise, unless HEADRACE_ON_DIFFERENCE=warn."""
    stays = kept.remember(captured.code, change.what)
    if not change.judged:
        say(report, captured.name, f"its code stays on this host: {stays} ({kept.remedy()})")
        return
    if not change.consumed:
        return
    text = (
        f"its code keeps state ({change.what}), and ran on several hosts before that was seen by "
        f"worker {change.worker} on {change.host}: {change.consumed} batches that were used are not "
        f"those that this host makes{named(change.batches)}"
    )
    say(report, captured.name, text)
    if options.from_environment().on_difference == "raise":
        raise BatchesDiffer(
            f"DataLoader({captured.name}): {text}. HEADRACE_ON_DIFFERENCE=warn goes on"
        )


def settle(session: Any, captured: StagePlan, report: LoaderReport) -> BatchesDiffer | None:
    """Before an iteration ends: what is still to be said of batches that were used. Drops batches that
    nobody takes any more. Returns what a verdict raises."""
    error = None
    deadline = time.monotonic() + PATIENCE
    try:
        while (left := session.undecided()) and time.monotonic() < deadline:
            event = service.call(session.next, 0.1)
            try:
                if type(event) is binding.Suspicion:
                    judge(session, event, report, captured.name)
                elif type(event) is binding.StateChange:
                    learn(event, captured, report)
            except BatchesDiffer as raised:
                error = error or raised
    except binding.HeadraceError:
        left = 0  # the service has ended, which the next call says
    if left:
        text = f"{left} batches that were used could not be compared in {PATIENCE:.0f} s any more"
        say(report, captured.name, text)
    return error
