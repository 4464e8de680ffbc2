"""A batch that a worker elsewhere made with other bytes than this host: whether its values are others,
and what then. Why so: docs/adr/0028-elsewhere.md."""

from typing import Any

from ..errors import BatchesDiffer
from ..service import answers, options, service
from ..service.report import LoaderReport, say
from ..stage.randomness import read_state
from .difference import Difference, difference

_MOST_NAMED = 16


def judge(session: Any, suspicion: Any, report: LoaderReport, name: str) -> None:
    """Tells the session, and says what was found. Raises BatchesDiffer where the program has used
    batches of that worker, unless HEADRACE_ON_DIFFERENCE=warn."""
    found = differs(suspicion.here, suspicion.there)
    consumed, batches = service.call(session.judge, suspicion.id, equal=found is None)
    if found is None:
        return
    text = (
        f"worker {suspicion.worker} on {suspicion.host} makes other batches than this host: "
        f"batch {suspicion.batch}{_place(found)}: {found.what} (here and there). "
        "It gets no more of them"
    )
    if not consumed:
        say(report, name, f"{text}, and none that it made was used")
        return
    text += f"; {consumed} that it made were used{named(batches)}"
    say(report, name, text)
    if options.from_environment().on_difference == "raise":
        raise BatchesDiffer(
            f"{text}. HEADRACE_ON_DIFFERENCE=warn goes on; HEADRACE_COMPARE=1 compares every batch"
        )


def differs(here: Any, there: Any) -> Difference | None:
    """The first difference of two batches, as values. None: they are equal, and so are the states of
    their lanes' generators after them."""
    try:
        return _differs(here, there)
    except Exception as error:  # what comes from elsewhere may be anything
        return Difference("", f"a batch that can't be read: {type(error).__name__}: {error}")


def _differs(here: Any, there: Any) -> Difference | None:
    raised = [bool(each.python_error) for each in (here, there)]
    if any(raised):
        if not all(raised):
            return Difference("", " and ".join(_outcome(each) for each in (here, there)))
        errors = [_error(each) for each in (here, there)]
        if errors[0] != errors[1]:
            return Difference("", f"{errors[0]} and {errors[1]}")
    else:
        values = [answers.value_of(each, list(each.buffers)) for each in (here, there)]
        found = difference(values[0], values[1])
        if found is not None:
            return found
    if here.lane_state == there.lane_state:
        return None
    states = [read_state(each.lane_state) for each in (here, there)]
    return None if difference(*states) is None else Difference("", "other random states after it")


def _outcome(batch: Any) -> str:
    return f"raised {_error(batch)}" if batch.python_error else "a batch"


def _error(batch: Any) -> str:
    """Type and message, less where it was raised."""
    wrapper = answers.error_of(batch)
    last: str = wrapper.exc_msg.rstrip().rpartition("\n")[2]
    return last or str(wrapper.exc_type.__name__)


def _place(found: Difference) -> str:
    sample = "" if found.sample is None else f", sample {found.sample}"
    return sample + (f", field {found.field}" if found.field else "")


def named(batches: list[int]) -> str:
    if not batches:
        return ", all in iterations before this one"
    text = ", ".join(map(str, batches[:_MOST_NAMED]))
    return f", in this iteration {text}" + (" ..." if len(batches) > _MOST_NAMED else "")
