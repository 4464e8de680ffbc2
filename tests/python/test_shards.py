"""Lists of samples in tars, and what is kept of them."""

import io
import json
import os
import random
import tarfile
import tracemalloc
from types import SimpleNamespace

import headrace
import numpy as np
import pytest
from headrace.capture.capture import capture
from headrace.errors import HeadraceError
from headrace.shards.listing import window
from headrace.shards.naming import expand, folder_of
from headrace.shards.tars import Tars
from PIL import Image
from support.object_server import BUCKET, Store, serve
from support.tars import packed
from torch.utils.data import DataLoader
from torchvision.transforms import ToTensor


def jpeg(shade: int = 0) -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (8, 8), (shade, 0, 0)).save(file, "PNG")
    return file.getvalue()


def write(path, members, form=tarfile.PAX_FORMAT):
    path.write_bytes(packed(members, form))
    return str(path)


def test_braces_stand_for_names():
    assert expand("a-{08..11}.tar") == ["a-08.tar", "a-09.tar", "a-10.tar", "a-11.tar"]
    assert expand("{a,b}{1..2}") == ["a1", "a2", "b1", "b2"]
    assert expand("plain") == ["plain"]
    for wrong in ("a{1..", "{2..1}", "a}b", "{0..99999999}"):
        with pytest.raises(ValueError):
            expand(wrong)


def test_the_folder_of_names():
    assert folder_of(["s3://b/p/a1.tar", "s3://b/p/a2.tar"]) == "s3://b/p/"
    assert folder_of(["s3://b/p/q/a.tar", "s3://b/p/r/a.tar"]) == "s3://b/p/"
    assert folder_of(["s3://b/p.tar"]) == "s3://b/"


def test_reads_grow_where_headers_are_near_and_not_where_they_are_far():
    assert window(True, 512, 0, 0) == 4096
    assert window(True, 512, 100_000, 4096) == 4096
    assert window(True, 512, 0, 4096) == 8192
    assert window(True, 50_000, 100_000, 4096) == 50_000
    assert window(False, 512, 100_000, 65536) == 131072
    assert window(False, 512, 5 << 20, 65536) == 65536
    assert window(False, 512, 0, 8 << 20) == 8 << 20


@pytest.mark.parametrize("form", [tarfile.USTAR_FORMAT, tarfile.GNU_FORMAT, tarfile.PAX_FORMAT])
def test_each_form_of_tar_and_long_names(tmp_path, form):
    long = "d" * 90 + "/" + ("n" * 90 if form == tarfile.USTAR_FORMAT else "ü" * 200)
    path = write(
        tmp_path / "a.tar",
        [(f"{name}.{end}", data) for name, shade in ((long, 9), ("b", 200))
         for end, data in (("png", jpeg(shade)), ("cls", str(shade).encode()))],
        form,
    )  # fmt: skip
    dataset = headrace.open_dataset(path)
    assert list(dataset.keys) == [long, "b"]
    assert [(image.getpixel((0, 0)), label) for image, label in dataset] == [
        ((9, 0, 0), 9),
        ((200, 0, 0), 200),
    ]
    assert dataset.targets.tolist() == [9, 200]
    with pytest.raises(IndexError):
        dataset[2]


def test_targets_of_every_kind(tmp_path):
    meta = {"id": 5, "words": "x"}
    path = write(
        tmp_path / "a.tar",
        [
            ("a.jpg", jpeg()),
            ("a.json", json.dumps(meta).encode()),
            ("a.txt", "ä b".encode()),
            ("a.seg.png", b"s"),
        ],
    )
    assert headrace.open_dataset(path)[0][1] == meta
    assert headrace.open_dataset(path, target="txt")[0][1] == "ä b"
    assert headrace.open_dataset(path, target="seg.png")[0][1] == b"s"
    assert headrace.open_dataset(path, target=None)[0][1] == 0
    labels = headrace.open_dataset(path, target="json", label=lambda told: told["id"])
    assert labels[0][1] == 5 and labels.targets.tolist() == [5]
    with pytest.raises(HeadraceError, match="a.tar: the target 'a.json' gives no label"):
        headrace.open_dataset(path, target="json", label=lambda told: told["none"])
    with pytest.raises(AttributeError, match="label="):
        _ = headrace.open_dataset(path).targets
    for how, native in (
        ({}, False),
        ({"target": None}, True),
        ({"target": "json", "label": lambda t: t["id"]}, True),
    ):
        seen = capture(
            DataLoader(headrace.open_dataset(path, ToTensor(), **how), 1, num_workers=2), "auto"
        )
        assert (seen.plan.python is None) == native


def test_what_does_not_fit_is_named(tmp_path):
    def opened(members, **how):
        return headrace.open_dataset(write(tmp_path / "s.tar", members), **how)

    with pytest.raises(HeadraceError, match=r"s\.tar: the sample 'a' has no image .*image="):
        opened([("a.cls", b"1")])
    with pytest.raises(HeadraceError, match=r"s\.tar: the sample 'a' has no target"):
        opened([("a.jpg", jpeg())])
    with pytest.raises(HeadraceError, match=r"s\.tar: the target 'a.cls' gives no label"):
        opened([("a.jpg", jpeg()), ("a.cls", b"cat")])
    with pytest.raises(HeadraceError, match="several kinds"):
        opened([("a.jpg", jpeg()), ("a.cls", b"1"), ("b.jpg", jpeg()), ("b.txt", b"1")])
    (tmp_path / "g.tar").write_bytes(b"\x1f\x8b" + bytes(1000))
    with pytest.raises(HeadraceError, match=r"g\.tar: it is compressed"):
        headrace.open_dataset(tmp_path / "g.tar")
    with pytest.raises(ValueError, match="unpack it to .tar"):
        headrace.open_dataset("/x/a.tar.gz")
    with pytest.raises(ValueError, match="ImageFolder"):
        headrace.open_dataset("/x/folder")
    with pytest.raises(FileNotFoundError, match="no tar called"):
        headrace.open_dataset(str(tmp_path / "none-*.tar"))
    with pytest.raises(FileNotFoundError):
        headrace.open_dataset(str(tmp_path / "none.tar"))
    dataset = opened([("a.jpg", b"no picture"), ("a.cls", b"1")])
    with pytest.raises(Exception, match=r"s\.tar, sample 'a'"):
        dataset[0]


def test_a_torn_tar_is_named(tmp_path):
    whole = packed([("a.jpg", jpeg()), ("a.cls", b"1")])
    (tmp_path / "t.tar").write_bytes(whole[:700])
    with pytest.raises(HeadraceError, match=r"t\.tar: .*torn"):
        headrace.open_dataset(tmp_path / "t.tar")


def test_what_tarfile_reads_is_what_is_listed(tmp_path):
    """Tars of all forms, whole and damaged: what is listed is what tarfile finds, or it is an error."""
    seed = random.randrange(2**32)
    print("seed", seed)
    draw, listed = random.Random(seed), 0
    path = tmp_path / "a.tar"
    for _ in range(200):
        members = []
        for number in range(draw.randrange(1, 5)):
            key = f"{'d/' * draw.randrange(3)}{'k' * draw.choice([1, 90, 120])}{number}"
            members += [
                (f"{key}.jpg", draw.randbytes(draw.randrange(1500))),
                (f"{key}.cls", b"%d" % number),
            ]
        try:
            tar = bytearray(packed(members, draw.choice([0, 1, 2])))
        except ValueError:
            continue  # the name is too long for ustar
        for _ in range(draw.choice([0, 0, 1, 3])):
            tar[draw.randrange(len(tar))] = draw.choice([0, 0x20, 0x30, 0x37, 0x80, 0xFF])
        if draw.random() < 0.2:
            del tar[draw.randrange(len(tar)) :]
        path.write_bytes(tar)
        os.utime(path, (1, 1))  # or each list waits for a step of the clock
        try:
            dataset = headrace.open_dataset(path)
        except HeadraceError:
            continue
        with tarfile.open(path) as there:
            expected = [
                (info.name.partition(".")[0], info.offset_data, info.size)
                for info in there if info.isreg() and info.name.lower().endswith(".jpg")
            ]  # fmt: skip
        of = dataset.index
        found = list(zip(dataset.keys, of.firsts.tolist(), of.sizes.tolist(), strict=True))
        assert found == expected
        listed += 1
    assert listed > 30


@pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnraisableExceptionWarning"
)  # it leaves files open
def test_samples_are_those_of_webdataset(tmp_path):
    wds = pytest.importorskip("webdataset")
    members = [("d/a.JPG", b"1"), ("d/a.cls", b"7"), ("d/a.seg.png", b"s"), ("README", b"r")]
    members += [("d/._b.jpg", b"x"), ("d.e/b.jpg", b"2"), ("d.e/b.cls", b"8"), ("c.x.jpg", b"no")]
    members += [("c.jpg", b"3"), ("c.cls", b"9")]
    path = write(tmp_path / "a.tar", members)
    dataset = headrace.open_dataset(path)
    of = dataset.index
    ours = [
        (key, dataset.place.read(path, of.versions[0], first, size), b"%d" % label)
        for key, first, size, label in zip(
            dataset.keys, of.firsts.tolist(), of.sizes.tolist(), of.labels.tolist(), strict=True
        )
    ]
    theirs = [
        (sample["__key__"], sample["jpg"], sample["cls"])
        for sample in wds.WebDataset(path, shardshuffle=False)
        if "cls" in sample
    ]
    assert ours == theirs


def test_a_tar_that_changes_in_place_is_refused(tmp_path):
    path = write(tmp_path / "a.tar", [("a.png", jpeg(1)), ("a.cls", b"1")])
    dataset = headrace.open_dataset(path)
    assert dataset[0][1] == 1
    with open(path, "r+b") as file:  # as long as before
        file.write(packed([("a.png", jpeg(2)), ("a.cls", b"2")]))
    with pytest.raises(HeadraceError, match="has changed since its samples were listed"):
        dataset[0]


def test_a_file_that_was_written_just_now_is_listed_when_its_clock_has_gone_on(
    tmp_path, monkeypatch
):
    """Else another write in the same step of that clock would leave its version as it is."""
    path = write(tmp_path / "a.tar", [("a.png", jpeg(1)), ("a.cls", b"1")])
    written = os.stat(path).st_mtime_ns
    now = [written + 1_000_000]

    def sleep(seconds: float) -> None:
        write(tmp_path / "a.tar", [("a.png", jpeg(2)), ("a.cls", b"2")])
        os.utime(path, ns=(written, written))
        now[0] += int(seconds * 1e9)

    clock = SimpleNamespace(time_ns=lambda: now[0], sleep=sleep)
    monkeypatch.setattr("headrace.process.file_version.time", clock)
    assert headrace.open_dataset(path)[0][1] == 2


def test_a_list_is_kept_for_as_long_as_the_tar_is_the_same(tmp_path, monkeypatch):
    kept, scans = tmp_path / "kept", []
    paths = [
        write(tmp_path / f"{n}.tar", [(f"{n}.png", jpeg(n)), (f"{n}.cls", b"%d" % n)])
        for n in range(3)
    ]
    part = Tars.part
    monkeypatch.setattr(
        Tars, "part", lambda self, reader, *a: (scans.append(1), part(self, reader, *a))[1]
    )

    def opened():
        scans.clear()
        dataset = headrace.open_dataset(paths, keep_index=kept)
        return [label for _, label in dataset], len(scans)

    assert opened() == ([0, 1, 2], 3)
    assert opened() == ([0, 1, 2], 0)
    write(tmp_path / "1.tar", [("1.png", jpeg(7)), ("1.cls", b"7")])
    assert opened() == ([0, 7, 2], 1)
    [file] = kept.iterdir()
    file.write_bytes(file.read_bytes()[:100])
    assert opened() == ([0, 7, 2], 3)
    assert opened() == ([0, 7, 2], 0)


def test_tars_in_a_store_are_listed_without_what_lies_between_headers(tmp_path):
    big = jpeg() + bytes(1_500_000)
    tar = packed(
        [(f"{n}.{end}", data) for n in range(4) for end, data in (("png", big), ("cls", b"%d" % n))]
    )
    with serve(
        Store({"p/a-1.tar": tar, "p/a-2.tar": tar, "p/b/a-3.tar": tar, "p/x": b""})
    ) as store:
        dataset = headrace.open_dataset(
            f"s3://{BUCKET}/p/a-*.tar", endpoint=store.url, anonymous=True
        )
        assert [label for _, label in dataset] == [0, 1, 2, 3] * 2
        assert dataset.index.shards == (f"s3://{BUCKET}/p/a-1.tar", f"s3://{BUCKET}/p/a-2.tar")
        dataset.transform = ToTensor()
        [leaf] = capture(DataLoader(dataset, 1), "auto").plan.leaves
        assert leaf.source == "object_ranges" and leaf.args["base"] == f"s3://{BUCKET}/p/"
        store.objects["p/a-2.tar"] = tar[:-512]
        with pytest.raises(HeadraceError, match=r"a-2\.tar has changed"):
            dataset[7]


def test_an_entry_costs_few_bytes(tmp_path):
    count = 2_000
    rows = [
        (f"{n:09d}.{end}", data)
        for n in range(count)
        for end, data in (("png", b"x"), ("cls", b"1"))
    ]
    path = write(tmp_path / "a.tar", rows, tarfile.USTAR_FORMAT)
    tracemalloc.start()
    dataset = headrace.open_dataset(path)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(dataset) == count and dataset.index.nbytes / count < 40
    assert held / count < 400  # what lists of any length take is in it
    assert np.all(dataset.targets == 1)
    assert os.path.getsize(path) > count * 1024
