"""The device's idle time within waits, on a device that is played by hand."""

import gc
import weakref

import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service import device, service, session
from headrace.service.device import Cuda, IdleMeter
from support.pipelines import Numbers
from torch.utils.data import DataLoader


class FakeDevice:
    """Times in milliseconds. Work begins when it is given, after the work before it."""

    def __init__(self):
        self.now = 0.0
        self.free_at = 0.0  # has done all that it was given
        self.used = True
        self.made = 0
        self.broken = False

    def in_use(self):
        return self.used

    def event(self):
        self.made += 1
        return FakeEvent(self)

    def give(self, work):
        self.free_at = max(self.free_at, self.now) + work


class FakeEvent:
    """Has no synchronize, so nothing can wait for it."""

    def __init__(self, device):
        self.device = device
        self.reached_at = None

    def record(self):
        if self.device.broken:
            raise RuntimeError("device-side assert triggered")
        self.reached_at = max(self.device.now, self.device.free_at)

    def query(self):
        return self.reached_at <= self.device.now

    def elapsed_time(self, end):
        assert self.query() and end.query(), "torch raises for events that were not reached"
        return end.reached_at - self.reached_at


@pytest.fixture
def fake():
    return FakeDevice()


def wait(meter, fake, milliseconds):
    meter.enter()
    fake.now += milliseconds
    meter.leave()


@pytest.mark.parametrize(
    ("work", "waited", "idle"),
    [
        (0, 10, 10),  # it had finished before
        (4, 10, 6),  # it finished in the middle
        (25, 10, 0),  # it was at work all along
        (0, 0, 0),
    ],
)
def test_idle_is_the_part_of_the_wait_behind_the_work(fake, work, waited, idle):
    told = []
    meter = IdleMeter(fake, told.append)
    fake.give(work)
    wait(meter, fake, waited)
    fake.now += 100
    meter.settle()
    assert told == [idle * 1_000_000]


def test_what_the_device_has_not_reached_is_told_later(fake):
    told = []
    meter = IdleMeter(fake, told.append)
    fake.give(30)
    wait(meter, fake, 10)
    meter.settle()
    assert told == []
    fake.give(5)
    wait(meter, fake, 40)  # up to 50: it had work until 35
    meter.settle()
    assert told == [0, 15_000_000]


def test_events_are_used_again(fake):
    meter = IdleMeter(fake, lambda idle: None)
    for _ in range(100):
        fake.give(3)
        wait(meter, fake, 5)
    assert fake.made <= 4


def test_a_device_that_lags_far_behind_keeps_a_bounded_number_of_events(fake):
    told = []
    meter = IdleMeter(fake, told.append)
    fake.give(1e9)
    for _ in range(1000):
        wait(meter, fake, 1)
    assert fake.made <= 200 and told == []
    fake.now = 2e9
    meter.settle()
    assert set(told) == {0}


def test_a_device_that_the_program_does_not_use_is_left_alone(fake):
    told = []
    meter = IdleMeter(fake, told.append)
    fake.used = False
    wait(meter, fake, 10)
    assert fake.made == 0
    fake.used = True  # the first batch was put there
    meter.leave()
    assert fake.made == 0
    wait(meter, fake, 10)
    meter.settle()
    assert told == [10_000_000]


def test_a_device_that_is_captured_in_the_middle_of_a_wait(fake):
    told = []
    meter = IdleMeter(fake, told.append)
    meter.enter()
    fake.used = False
    meter.leave()
    fake.used = True
    meter.settle()
    assert told == []


def test_errors_of_the_device_are_the_programs(fake):
    told = []
    meter = IdleMeter(fake, told.append)
    wait(meter, fake, 1)
    fake.broken = True
    wait(meter, fake, 1)
    fake.broken = False
    wait(meter, fake, 1)
    meter.settle()
    assert told == [1_000_000]  # and nothing after the error


class NoCuda(Exception):
    pass


def test_cuda_is_not_initialised_by_looking(monkeypatch):
    def never(*args, **named):
        raise NoCuda

    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: False)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", never)
    monkeypatch.setattr(torch.cuda, "Event", never)
    monkeypatch.setattr(torch.cuda, "_lazy_init", never)
    meter = IdleMeter(Cuda(), never)
    meter.enter()
    meter.leave()
    meter.settle()


def test_nothing_is_recorded_into_a_graph_that_is_captured(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
    assert not Cuda().in_use()


def test_torch_without_cuda_has_no_meter(monkeypatch):
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: False)
    assert device.idle_meter(print) is None
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    assert isinstance(device.idle_meter(print), IdleMeter)


def test_a_meter_keeps_no_session_alive(seam, monkeypatch):
    """Sessions end when nobody holds them, without a garbage collection."""
    monkeypatch.setattr(torch.backends.cuda, "is_built", lambda: True)
    iterator = iter(DataLoader(Numbers(), 4, num_workers=2))
    next(iterator)
    session_of = weakref.ref(iterator._handle)
    assert isinstance(session_of()._idle, IdleMeter)
    gc.disable()
    try:
        del iterator
        assert session_of() is None
    finally:
        gc.enable()


class AlwaysIdle(FakeDevice):
    """Each wait finds it with nothing to do for 1 microsecond."""

    def event(self):
        self.now += 0.001
        return FakeEvent(self)


def test_a_loader_reports_it(seam, monkeypatch):
    fake = AlwaysIdle()
    monkeypatch.setattr(session.device, "idle_meter", lambda told: IdleMeter(fake, told))
    loader = DataLoader(Numbers(), 4, num_workers=2)
    list(loader)
    service.REPORT.as_dict()
    report = state_of(loader).report
    assert 0 < report.idle_seconds < report.stall_seconds
    list(loader)
    service.REPORT.as_dict()
    assert report.idle_seconds < report.stall_seconds
