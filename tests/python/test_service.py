"""Bad settings and missing services: an error that names the thing and the remedy."""

import os
import signal
import socket
import subprocess

import headrace
import pytest
import torch
from compare import assert_same
from headrace import binding, options, service
from pipelines import train_v1
from torch.utils.data import DataLoader
from torchvision import datasets


@pytest.fixture
def no_service():
    service.close()
    yield
    service.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_wrong_coordinator_address(photos, seam, no_service, monkeypatch):
    address = f"tcp://127.0.0.1:{free_port()}"
    monkeypatch.setenv("HEADRACE_COORDINATOR", address)
    loader = DataLoader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=1)
    with pytest.raises(headrace.CoordinatorUnavailable, match=address):
        iter(loader)


def test_program_that_cannot_start_a_service_runs_without(
    photos, seam, no_service, capfd, monkeypatch
):
    monkeypatch.setenv("HEADRACE_BINARY", "/nowhere/headrace")
    loader = DataLoader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=1)
    assert len(list(loader)) == 7
    assert "/nowhere/headrace" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("HEADRACE_COORDINATOR", "host:99", "write tcp://HOST:PORT or ipc:///PATH"),
        ("HEADRACE_CACHE", "lots", "write 2G, 512M"),
        ("HEADRACE_WORKERS", "-1", "write a number"),
        ("HEADRACE_THREADS", "two", "write a number"),
        ("HEADRACE_RNG", "dice", "write one of auto, torch, sample"),
    ],
)
def test_bad_setting(name, value, message):
    with pytest.raises(headrace.OptionError, match=message) as raised:
        options.from_environment({name: value})
    assert f"{name}={value!r}" in str(raised.value)


def test_settings():
    settings = options.from_environment({"HEADRACE_CACHE": "1.5 GiB", "HEADRACE_WORKERS": "3"})
    assert settings == options.Options(workers=3, cache_bytes=3 << 29)
    assert options.from_environment({"HEADRACE_COORDINATOR": "tcp://a:1"}).workers == 0
    assert options.from_environment({}) == options.Options()


@pytest.mark.parametrize("value", ["off", "OFF", "0", "no"])
def test_off(value):
    assert options.is_off({"HEADRACE": value}) and not options.is_off({"HEADRACE": "on"})


def test_off_leaves_torch_alone(monkeypatch):
    headrace.uninstall()
    monkeypatch.setenv("HEADRACE", "off")
    before = torch.utils.data.DataLoader._get_iterator
    headrace.install()
    assert torch.utils.data.DataLoader._get_iterator is before


def test_install_is_idempotent():
    before = torch.utils.data.DataLoader._get_iterator
    headrace.install()
    headrace.install()
    headrace.uninstall()
    assert torch.utils.data.DataLoader._get_iterator is before


def test_cache_gives_the_same_bits(photos, seam, no_service, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", "64M")
    from headrace.seam import state_of

    data = datasets.ImageFolder(photos, train_v1())
    torch.manual_seed(1)
    loader = DataLoader(data, 4, num_workers=2)
    seen = [[batch[0].clone() for batch in loader] for _ in range(3)]
    list(loader)
    service.REPORT.as_dict()
    hits = state_of(loader).report.cache_hits
    assert hits["decoded"] + hits["encoded"] >= 27, hits
    headrace.uninstall()
    torch.manual_seed(1)
    stock = DataLoader(data, 4, num_workers=2)
    for epoch in seen:
        for mine, theirs in zip(epoch, stock, strict=True):
            assert torch.equal(mine, theirs[0])


@pytest.fixture
def cluster(no_service, monkeypatch):
    """A coordinator with two workers, over TCP, that is not the program's own."""
    address = f"tcp://127.0.0.1:{free_port()}"
    command = [options.find_binary(), "coordinator", "--listen", address, "--workers", "2"]
    process = subprocess.Popen(
        [*command, "--parent-pid", str(os.getpid())],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    monkeypatch.setenv("HEADRACE_COORDINATOR", address)
    yield process
    service.close()
    process.terminate()
    process.wait()


def epoch(data, **named):
    torch.manual_seed(4)
    return iter(DataLoader(data, 4, shuffle=True, num_workers=2, **named))


def test_workers_of_a_coordinator(photos, seam, cluster):
    data = datasets.ImageFolder(photos, train_v1())
    mine = [[tensor.clone() for tensor in batch] for batch in epoch(data)]
    headrace.uninstall()
    assert_same(mine, list(epoch(data)))


def test_running_epoch_goes_on_without_its_coordinator(photos, seam, cluster):
    data = datasets.ImageFolder(photos, train_v1())
    iterator = epoch(data)
    mine = [[tensor.clone() for tensor in next(iterator)]]
    cluster.send_signal(signal.SIGSTOP)
    try:
        mine += [[tensor.clone() for tensor in batch] for batch in iterator]
    finally:
        cluster.send_signal(signal.SIGCONT)
    headrace.uninstall()
    assert_same(mine, list(epoch(data)))


def test_service_killed_in_the_middle_of_an_epoch(photos, seam, no_service):
    """The private service and its workers die: started again, or an error. Never a hang."""
    data = datasets.ImageFolder(photos, train_v1())
    iterator = epoch(data)
    mine = [[tensor.clone() for tensor in next(iterator)]]
    with open(f"/proc/self/task/{os.getpid()}/children") as file:
        for child in file.read().split():
            os.kill(int(child), signal.SIGKILL)
    try:
        mine += [[tensor.clone() for tensor in batch] for batch in iterator]
    except headrace.WorkersUnavailable as error:
        assert "HEADRACE=off" in str(error)
        return
    headrace.uninstall()
    assert_same(mine, list(epoch(data)))


@pytest.mark.parametrize(
    ("raised", "expected"),
    [
        (binding.ResourceExhaustedError("no room for a slot of 3 GB"), headrace.OutOfMemory),
        (binding.UnavailableError("no worker"), headrace.WorkersUnavailable),
        (binding.UnsupportedError("wire version 2, this is version 1"), headrace.VersionMismatch),
        (binding.InternalError("ours"), headrace.HeadraceError),
    ],
)
def test_errors_of_the_service(raised, expected):
    translated = service.translate(raised)
    assert type(translated) is expected and str(translated) == str(raised)


def test_error_classes_are_what_programs_expect():
    assert issubclass(headrace.OutOfMemory, MemoryError)
    assert issubclass(headrace.CoordinatorUnavailable, ConnectionError)
    assert issubclass(headrace.HeadraceError, RuntimeError)  # as a lost worker of the stock loader
