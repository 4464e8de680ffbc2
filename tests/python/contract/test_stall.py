"""Contract of the stall: all time in next() is counted, and goes to what it was for."""

import time

import numpy as np
import pytest
import torch
from headrace.loader.seam import state_of
from headrace.service import service
from headrace.service.report import WAIT_CAUSES
from PIL import Image
from support.pipelines import Numbers, train_v1
from torch.utils.data import DataLoader, Dataset, IterableDataset, Sampler, Subset
from torchvision import datasets, transforms


def report_of(loader):
    service.REPORT.as_dict()
    return state_of(loader).report


def second_epoch(loader):
    """Seconds of waiting by cause, once everything has started."""
    list(loader)
    before = dict(report_of(loader).wait_seconds)
    list(loader)
    report = report_of(loader)
    assert report.path != "local", report.reasons
    return {cause: seconds - before[cause] for cause, seconds in report.wait_seconds.items()}


def share(waits, cause):
    return waits[cause] / sum(waits.values())


@pytest.fixture
def one_core(monkeypatch):
    """A service of this test's own, with one compute thread, which makes each sample anew."""
    service.close()
    monkeypatch.setenv("HEADRACE_CACHE", "0")
    monkeypatch.setenv("HEADRACE_WORKERS", "1")
    monkeypatch.setenv("HEADRACE_THREADS", "1")
    yield
    service.close()


class Slow(Sampler):
    def __iter__(self):
        for index in range(40):
            time.sleep(0.01)  # what is measured
            yield index

    def __len__(self):
        return 40


@pytest.mark.parametrize("workers", [0, 2])
def test_sampler(seam, photos, workers):
    small = transforms.Compose([transforms.Resize((16, 16)), transforms.ToTensor()])
    data = Subset(datasets.ImageFolder(photos, small), [index % 27 for index in range(40)])
    waits = second_epoch(DataLoader(data, 4, sampler=Slow(), num_workers=workers))
    assert share(waits, "sampler") >= 0.8, waits


class Burns(Dataset):
    """A sample takes far longer than anything else about it."""

    def __len__(self):
        return 24

    def __getitem__(self, index):
        return sum(i * i for i in range(400_000)) + index


class BurnsStream(IterableDataset):
    def __iter__(self):
        return (Burns()[i] for i in range(24))


@pytest.mark.parametrize("data", [Burns(), BurnsStream()], ids=["map", "iterable"])
def test_python_stage(seam, data):
    waits = second_epoch(DataLoader(data, 4, num_workers=1))
    assert share(waits, "python") >= 0.8, waits


@pytest.fixture
def large_photos(tmp_path):
    """A sample takes far longer to decode than to be read and brought, also where others use the CPU."""
    (tmp_path / "class").mkdir()
    for i in range(16):
        noise = np.random.default_rng(i).integers(0, 256, (2400, 2400, 3), dtype=np.uint8)
        Image.fromarray(noise).save(tmp_path / "class" / f"{i}.jpg", quality=90)
    return tmp_path


def test_decoding_on_one_core(large_photos, seam, one_core):
    small = transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()])
    loader = DataLoader(datasets.ImageFolder(large_photos, small), 2, num_workers=1)
    waits = second_epoch(loader)
    assert share(waits, "compute") >= 0.8, waits
    report = report_of(loader)
    assert report.worker_samples == {"hit": 0, "miss": 2 * 16}
    files = sum(file.stat().st_size for file in large_photos.glob("*/*"))
    assert report.source_bytes == 2 * files
    assert report.worker_seconds["miss_cpu"] > 0 and report.worker_seconds["hit_cpu"] == 0


class Opened(Dataset):
    """Pictures that user code opens: through PIL, or by itself."""

    def __init__(self, folder, by_pil):
        self.files = sorted(folder.glob("*/*.jpg"))
        self.by_pil = by_pil

    def __len__(self):
        return len(self.files)

    def __getitem__(self, index):
        if self.by_pil:
            picture = Image.open(self.files[index]).convert("RGB").resize((32, 32))
            return torch.from_numpy(np.asarray(picture).copy())
        return len(self.files[index].read_bytes())


@pytest.mark.parametrize("by_pil", [True, False], ids=["pil", "read"])
def test_what_a_python_stage_reads_counts(large_photos, seam, by_pil):
    loader = DataLoader(Opened(large_photos, by_pil), 2, num_workers=1)
    second_epoch(loader)
    files = sum(file.stat().st_size for file in large_photos.glob("*/*"))
    # A little more than the files: their heads twice, and what the interpreter reads for itself.
    assert 2 * files <= report_of(loader).source_bytes <= 2.02 * files


def test_samples_that_the_trainer_makes_are_its_own_part(large_photos, seam):
    """Half of them: large ones in a form that only PIL reads, beside small ones."""
    for i, file in enumerate(sorted(large_photos.glob("*/*"))):
        if i % 2 == 0:
            Image.new("RGB", (32, 32)).save(file)
        else:
            noise = np.random.default_rng(i).integers(0, 256, (1000, 1000, 3), dtype=np.uint8)
            Image.fromarray(noise).save(file, "TIFF", compression="tiff_lzw")
    small = transforms.Compose([transforms.Resize((32, 32)), transforms.ToTensor()])
    loader = DataLoader(datasets.ImageFolder(large_photos, small), 2, num_workers=1)
    waits = second_epoch(loader)
    assert report_of(loader).counts["missing_samples"] == 2 * 8
    assert report_of(loader).counts["refused_samples"] == 2 * 8
    assert share(waits, "copy") >= 0.8, waits


def test_the_decoded_cache_is_a_path_of_its_own(photos, seam, monkeypatch):
    monkeypatch.setenv("HEADRACE_CACHE", "64M")
    service.close()
    try:
        loader = DataLoader(datasets.ImageFolder(photos, train_v1()), 4, num_workers=2)
        list(loader)
        first = dict(report_of(loader).worker_samples)  # admission had some of them made before
        missed = report_of(loader).worker_seconds["miss_cpu"]
        list(loader)
        report = report_of(loader)
        assert first["hit"] + first["miss"] == 27 and first["miss"] > 0
        assert report.worker_samples == {"hit": first["hit"] + 27, "miss": first["miss"]}
        assert report.worker_seconds["hit_cpu"] > 0
        assert report.worker_seconds["miss_cpu"] == missed > 0
    finally:
        service.close()


class Stream(IterableDataset):
    def __iter__(self):
        return iter(range(10))


def loaders(photos):
    images = datasets.ImageFolder(photos, train_v1())
    yield "native", DataLoader(images, 4, shuffle=True, num_workers=2)
    yield "without workers", DataLoader(images, 4)
    yield "any order", DataLoader(images, 4, num_workers=2, in_order=False)
    yield "persistent", DataLoader(images, 4, num_workers=2, persistent_workers=True)
    yield "stage", DataLoader(Numbers(), 4, num_workers=2)
    yield "iterable", DataLoader(Stream(), 4, num_workers=2)
    torchdata = pytest.importorskip("torchdata.stateful_dataloader")
    yield "stateful", torchdata.StatefulDataLoader(images, 4, num_workers=2)


@pytest.mark.filterwarnings("ignore:'set_vital' is deprecated:UserWarning")  # torchdata
def test_causes_add_up_to_the_time_in_next(photos, seam):
    for name, loader in loaders(photos):
        inside = 0
        for _ in range(2):
            iterator = iter(loader)
            while True:
                began = time.perf_counter_ns()
                batch = next(iterator, None)
                inside += time.perf_counter_ns() - began
                if batch is None:
                    break
        report = report_of(loader)
        assert report.path != "local", name
        assert set(report.wait_seconds) == set(WAIT_CAUSES)
        assert sum(report.wait_seconds.values()) == pytest.approx(report.stall_seconds), name
        assert 0 < report.stall_seconds <= inside * 1e-9, name
        assert report.step_seconds > 0 and report.idle_seconds is None, name


def test_a_loader_that_stays_has_a_stall_without_causes(seam):
    loader = DataLoader(Stream(), 4)
    list(loader)
    report = report_of(loader)
    assert report.path == "local" and report.stall_seconds > 0
    assert set(report.wait_seconds.values()) == {0.0}


def test_an_error_ends_the_wait(seam):
    """The time until the program asks again is a step of its own."""

    class Fails(Numbers):
        def __getitem__(self, index):
            raise ValueError("oops")

    loader = DataLoader(Fails(), 4, num_workers=1)
    iterator = iter(loader)
    with pytest.raises(ValueError, match="oops"):
        next(iterator)
    before = report_of(loader).stall_seconds
    assert before > 0
    assert report_of(loader).stall_seconds == before
