"""A Python stage whose processes are killed in the middle of an epoch."""

import os
import signal
from collections.abc import Callable, Iterable

import headrace
import pytest
import torch
from headrace import service
from headrace.seam import state_of
from support.compare import assert_same, seed_everything
from support.pipelines import Numbers
from support.processes import hosts, stages, zygotes
from torch.utils.data import DataLoader

EPOCHS = 2


def kill(processes: Iterable[int]) -> None:
    victims = list(processes)
    assert victims
    for victim in victims:
        os.kill(victim, signal.SIGKILL)


def kill_bases() -> None:
    kill(stages())


def kill_zygotes() -> None:
    kill(zygotes())


def kill_hosts() -> None:
    kill(hosts())


def epochs(disturb: Callable[[], None] | None, lanes: int) -> list[object]:
    seed_everything()
    loader = DataLoader(Numbers(80), batch_size=2, num_workers=lanes, shuffle=True)
    seen: list[object] = []
    for epoch in range(EPOCHS):
        for number, batch in enumerate(loader):
            seen.append(batch)
            if disturb is not None and (epoch, number) == (1, 3):
                disturb()
        seen.append(torch.rand(2))
    if disturb is not None:
        assert state_of(loader).report.path == "python"
    return seen


@pytest.mark.parametrize("disturb", [kill_bases, kill_zygotes, kill_hosts])
@pytest.mark.parametrize("transport", ["shm", "tcp"])
def test_killed_processes_change_no_batch(disturb, transport, seam, monkeypatch):
    if transport == "tcp":
        monkeypatch.setenv("HEADRACE_TRANSPORT", "tcp")
    headrace.uninstall()
    expected = epochs(None, lanes=2)
    headrace.install()
    assert_same(epochs(disturb, lanes=2), expected)
    service.close()


class KillsItsZygote(Numbers):
    def __getitem__(self, index):
        if index == 5:
            os.kill(os.getppid(), signal.SIGKILL)
            signal.pause()
        return super().__getitem__(index)


def test_code_that_kills_its_stage_each_time_is_an_error_that_names_the_cause(seam):
    loader = DataLoader(KillsItsZygote(12), batch_size=2, num_workers=2)
    with pytest.raises(headrace.WorkersUnavailable) as raised:
        for _ in loader:
            pass
    assert "lost 3 times" in str(raised.value)
    assert "killed by signal: Killed" in str(raised.value)
    service.close()
