"""Bad settings and missing services: an error that names the thing and the remedy."""

import os
import signal
import subprocess
import sys
import threading
import types
from pathlib import Path

import headrace
import pytest
import torch
from headrace import errors
from headrace.native import binding
from headrace.service import options, service
from support.compare import assert_same, check
from support.headrace_program import free_address
from support.pipelines import train_v1
from support.processes import children
from support.programs import run_program
from torch.utils.data import DataLoader, Dataset
from torchvision import datasets, transforms


def test_wrong_coordinator_address(photos, seam, no_service, monkeypatch):
    address = free_address()
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


def test_a_service_that_was_begun_is_the_one_that_is_waited_for(no_service):
    threads = set(threading.enumerate())  # one of another test may end meanwhile
    service.begin()
    client = service.client()
    assert set(threading.enumerate()) <= threads
    assert client is service.client() and client.coordinator_endpoint
    service.begin()  # nothing
    assert client is service.client()


def test_one_that_cannot_begin_is_said_when_it_is_needed(no_service, monkeypatch):
    monkeypatch.setenv("HEADRACE_BINARY", "/nowhere/headrace")
    service.begin()
    with pytest.raises(headrace.CoordinatorUnavailable, match="/nowhere/headrace"):
        service.client()


COLLECTS = """
import gc, sys
import headrace, torch
from torch.utils.data import DataLoader

headrace.install()
if sys.argv[1] == "off":
    gc.disable()
loader = DataLoader(list(range(8)), 2, num_workers=1)
assert [each.tolist() for each in loader] == [[0, 1], [2, 3], [4, 5], [6, 7]]
assert gc.isenabled() == (sys.argv[1] == "on")
print("done")
"""


@pytest.mark.parametrize("switch", ["on", "off"])
def test_collection_of_garbage_is_switched_as_the_program_has_it(switch):
    done = run_program(COLLECTS, switch)
    assert done.stdout == "done\n", done.stderr


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("HEADRACE_COORDINATOR", "host:99", "write tcp://HOST:PORT or ipc:///PATH"),
        ("HEADRACE_CACHE", "lots", "write 2G, 512M"),
        ("HEADRACE_MEMORY", "much", "write 2G, 512M"),
        ("HEADRACE_WORKERS", "-1", "write a number"),
        ("HEADRACE_THREADS", "two", "write a number"),
        ("HEADRACE_RNG", "dice", "write one of auto, torch, sample"),
        ("HEADRACE_WIRE", "float", "write one of auto, uint8, as-made"),
        ("HEADRACE_PRIORITY", "high", "is not a whole number"),
        ("HEADRACE_LINK", "fast", "is not a size"),
        ("HEADRACE_LOCAL_WORKER", "maybe", "write on or off"),
    ],
)
def test_bad_setting(name, value, message):
    with pytest.raises(headrace.OptionError, match=message) as raised:
        options.from_environment({name: value})
    assert f"{name}={value!r}" in str(raised.value)


def test_settings():
    settings = options.from_environment({"HEADRACE_CACHE": "1.5 GiB", "HEADRACE_WORKERS": "3"})
    assert settings == options.Options(workers=3, cache_bytes=3 << 29)
    for text in ("auto", ""):
        assert options.from_environment({"HEADRACE_CACHE": text}).cache_bytes is None
    assert options.from_environment({"HEADRACE_CACHE": "0"}).cache_bytes == 0
    assert options.from_environment({"HEADRACE_MEMORY": "4G"}).memory_bytes == 4 << 30
    assert options.from_environment({"HEADRACE_COORDINATOR": "tcp://a:1"}).workers == 0
    assert options.from_environment({}) == options.Options()
    assert not options.from_environment({"HEADRACE_LOCAL_WORKER": "off"}).local_worker
    settings = options.from_environment({"HEADRACE_TENANT": "vision", "HEADRACE_PRIORITY": "-2"})
    assert (settings.tenant, settings.priority) == ("vision", -2)
    assert (settings.link, settings.rack) == (0, "")
    settings = options.from_environment({"HEADRACE_LINK": "119M", "HEADRACE_RACK": "west"})
    assert (settings.link, settings.rack) == (119 << 20, "west")


def test_an_environment_is_read_again_when_it_has_changed(monkeypatch):
    read, real = [], options._read
    monkeypatch.setattr(options, "_read", lambda environ: read.append(1) or real(environ))
    monkeypatch.setenv("HEADRACE_TENANT", "vision")
    for _ in range(3):
        assert options.from_environment().tenant == "vision"
    assert len(read) == 1
    os.environ["HEADRACE_TENANT"] = "speech"
    assert options.from_environment().tenant == "speech"
    os.environ["HEADRACE_RNG"] = "dice"
    for _ in range(2):
        with pytest.raises(headrace.OptionError, match="write one of"):
            options.from_environment()
    del os.environ["HEADRACE_RNG"], os.environ["HEADRACE_TENANT"]
    assert options.from_environment().tenant == ""


def test_ranks_of_one_program_are_a_group():
    environ = {"MASTER_ADDR": "10.0.0.1", "MASTER_PORT": "29500", "WORLD_SIZE": "2"}
    first = options.from_environment({**environ, "RANK": "0"})
    second = options.from_environment({**environ, "RANK": "1"})
    assert first.group == second.group != ""
    assert (first.rank, second.rank) == (0, 1)
    other = options.from_environment({**environ, "MASTER_PORT": "29501", "RANK": "0"})
    assert other.group != first.group
    alone = options.from_environment({**environ, "WORLD_SIZE": "1", "RANK": "0"})
    assert (alone.group, alone.rank) == ("", -1)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.1.2.3", "localhost", "::1"])
def test_programs_that_meet_at_loopback_are_apart_on_two_hosts(address, monkeypatch):
    """Launchers of one host all take the same port there unless they are told another one."""
    environ = {"MASTER_ADDR": address, "MASTER_PORT": "29500", "WORLD_SIZE": "2", "RANK": "1"}
    here = options.from_environment(environ)
    assert options.from_environment({**environ, "RANK": "0"}).group == here.group
    monkeypatch.setattr("socket.gethostname", lambda: "another")
    assert options.from_environment(environ).group != here.group
    shared = {**environ, "MASTER_ADDR": "10.0.0.1"}
    there = options.from_environment(shared).group
    monkeypatch.undo()
    assert options.from_environment(shared).group == there, "ranks of several hosts"


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
    from headrace.loader.seam import state_of

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


def test_batches_that_do_not_fit_name_the_bound_and_the_options(
    photos, seam, no_service, monkeypatch
):
    """MemoryError comes at next(), as the stock loader's would; the loader goes on after it."""
    monkeypatch.setenv("HEADRACE_MEMORY", "1M")
    big = transforms.Compose([transforms.Resize((256, 256)), transforms.ToTensor()])
    loader = DataLoader(datasets.ImageFolder(photos, big), 4, num_workers=1)  # 3 MB a batch
    iterator = iter(loader)
    with pytest.raises(headrace.OutOfMemory, match="a batch slot of 4 MiB does not fit") as raised:
        next(iterator)
    assert isinstance(raised.value, MemoryError)
    for remedy in ("of the arena's 1 MiB", "batch_size", "--memory", "HEADRACE_MEMORY"):
        assert remedy in str(raised.value)
    small = transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()])
    assert len(list(DataLoader(datasets.ImageFolder(photos, small), 4, num_workers=1))) == 7


@pytest.fixture
def cluster(no_service, monkeypatch):
    """A coordinator with two workers, over TCP, that is not the program's own."""
    address = free_address()
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
    # Not the other children: the death of a stock worker is an error, whichever loader has it.
    service_alone = [p for p, line in children(os.getpid()).items() if "coordinator" in line]
    assert len(service_alone) == 1
    for pid in [*children(service_alone[0]), *service_alone]:
        os.kill(pid, signal.SIGKILL)
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
        (binding.OtherReleaseError("wire version 2, this is version 1"), headrace.VersionMismatch),
        (binding.UnsupportedError("no such module there"), errors.Unsupported),
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


class OnlyHere(Dataset):
    """Lives in a module that no other interpreter can import."""

    def __len__(self):
        return 8

    def __getitem__(self, index):
        return index


@pytest.fixture
def only_here(monkeypatch):
    """Makes it like an installed package, which is pickled by its name."""
    module = types.ModuleType("only_here")
    module.__file__ = str(Path(torch.__file__).parents[1] / "only_here.py")
    module.OnlyHere = OnlyHere
    monkeypatch.setattr(OnlyHere, "__module__", "only_here")
    monkeypatch.setitem(sys.modules, "only_here", module)
    return module.OnlyHere()


def test_a_package_that_only_this_process_has(only_here, seam, capfd):
    """Its code runs in copies of this process: no interpreter looks for the package."""
    check(lambda loader: loader(only_here, 2, num_workers=2), path="python")
    err = capfd.readouterr().err
    assert err.count("\n") == 1 and "OnlyHere is not a dataset with a native form" in err
