"""Bad settings and missing services: an error that names the thing and the remedy."""

import socket

import headrace
import pytest
import torch
from headrace import options, service
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
