"""A lane reads its CPU clock now and then, and tells all that was used (stage/lane_requests.py)."""

import random
from types import SimpleNamespace

from headrace.stage import lane_requests

SEED = 20261130


def test_all_cpu_time_is_told_once(monkeypatch):
    now = SimpleNamespace(wall=10**12, cpu=5, reads=0)

    def cpu():
        now.reads += 1
        return now.cpu

    fake = SimpleNamespace(monotonic_ns=lambda: now.wall, process_time_ns=cpu)
    monkeypatch.setattr(lane_requests, "time", fake)
    rng, told, every = random.Random(SEED), 0, lane_requests._READ_EVERY_NS
    clock = lane_requests.CpuClock()
    now.cpu += 700
    told += clock.news()  # the first batch is told at once
    assert told == 700
    began, reads = now.wall, now.reads
    for _ in range(5000):
        now.wall += rng.randrange(every // 4)
        now.cpu += rng.randrange(1000)
        told += clock.news()
    assert 0 < now.reads - reads <= (now.wall - began) // every + 1, SEED
    now.cpu += 300
    now.wall += 1
    assert told + clock.news(is_last=True) == now.cpu - 5, SEED
    now.wall += every
    assert clock.news() == 0, "it was told"


def test_a_batch_that_another_process_answered_has_used_nothing():
    state = SimpleNamespace(slot_offset=0, slot_bytes=0)
    assert lane_requests.Asked(None, b"", state).cpu_used() == 0
