"""What comes of code that was seen to keep state, and of verdicts at an iteration's end."""

from types import SimpleNamespace

import pytest
from headrace.capture import kept
from headrace.errors import BatchesDiffer
from headrace.native import binding
from headrace.serve import state_seen
from headrace.service.report import LoaderReport
from torch.utils.data import DataLoader, Subset


class Rows:
    def __len__(self):
        return 4

    def __getitem__(self, index):
        return index


class Others(Rows):
    pass


def loader(data, collate_fn=None):
    return DataLoader(data, num_workers=1, collate_fn=collate_fn)


def seen(judged, consumed=0, batches=(), what="dataset.made was 0 and is 1"):
    batches = list(batches)
    return SimpleNamespace(
        judged=judged, what=what, worker=3, host="far", consumed=consumed, batches=batches
    )


@pytest.fixture
def captured(request):
    yield SimpleNamespace(code=(request.node.name,), name=request.node.name)
    kept._seen.pop((request.node.name,))


def report():
    return LoaderReport("it", 1)


def test_it_is_said_and_remembered(captured, capfd):
    state_seen.learn(seen(judged=False), captured, report())
    assert kept.why(captured.code) == "dataset.made was 0 and is 1 after a batch, so it keeps state"
    said = capfd.readouterr().err
    assert "its code stays on this host: dataset.made was 0 and is 1" in said
    assert kept.remedy() in said


def test_batches_that_were_used_and_come_out_otherwise_are_an_error(captured, monkeypatch):
    verdict = seen(judged=True, consumed=3, batches=[4, 6])
    with pytest.raises(
        BatchesDiffer, match="far: 3 batches that were used.*, in this iteration 4, 6"
    ):
        state_seen.learn(verdict, captured, report())
    monkeypatch.setenv("HEADRACE_ON_DIFFERENCE", "warn")
    state_seen.learn(verdict, captured, report())


def test_without_such_batches_a_verdict_is_silent(captured, capfd):
    state_seen.learn(seen(judged=True), captured, report())
    assert capfd.readouterr().err == ""


def test_code_is_known_by_its_classes_and_functions():
    code = kept.code_of(loader(Subset(Rows(), [0])))
    assert code == kept.code_of(loader(Subset(Rows(), [1, 2])))
    assert code != kept.code_of(loader(Subset(Others(), [0])))
    assert code != kept.code_of(loader(Subset(Rows(), [0]), collate_fn=list))

    def anew():
        return loader(Rows(), collate_fn=lambda batch: batch)

    assert kept.code_of(anew()) == kept.code_of(anew())


class Session:
    """Gives these events, and has this number of verdicts due."""

    def __init__(self, events, due):
        self.events, self.due = list(events), due

    def undecided(self):
        return self.due

    def next(self, timeout):
        event = self.events.pop(0) if self.events else None
        self.due -= event is not None and getattr(event, "judged", False)
        return event


def settled(session, captured, monkeypatch, patience):
    monkeypatch.setattr(state_seen, "PATIENCE", patience)
    monkeypatch.setattr(binding, "StateChange", SimpleNamespace, raising=False)
    return state_seen.settle(session, captured, report())


def test_an_iteration_that_ends_waits_for_its_verdicts(captured, monkeypatch, capfd):
    verdict = seen(judged=True, consumed=1, batches=[2])
    error = settled(Session([None, object(), verdict], 1), captured, monkeypatch, 60.0)
    assert isinstance(error, BatchesDiffer)
    assert "could not be compared" not in capfd.readouterr().err


def test_verdicts_that_do_not_come_are_said_to_be_missing(captured, monkeypatch, capfd):
    kept.remember(captured.code, "x")
    assert settled(Session([], 2), captured, monkeypatch, 0.0) is None
    assert "2 batches that were used could not be compared" in capfd.readouterr().err
