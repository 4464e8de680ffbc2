"""Lists of objects, and what is kept of them."""

import pickle
import random
import tracemalloc
from xml.sax.saxutils import escape

import headrace
import numpy as np
import pytest
from headrace.objects import listing
from headrace.objects.listing import parse_any_page, parse_page
from headrace.objects.names import PackedNames
from headrace.objects.order import by_class, ordered
from support.object_server import BUCKET, Faults, Store, objects_of, serve
from torchvision import datasets

NAMESPACE = 'xmlns="http://s3.amazonaws.com/doc/2006-03-01/"'


def page(inner: str, head: str = "") -> bytes:
    return f"{head}<ListBucketResult {NAMESPACE}>{inner}</ListBucketResult>".encode()


def test_a_page_has_names_folders_and_the_way_on():
    made = parse_page(
        page(
            "<Prefix>p/</Prefix><EncodingType>url</EncodingType><IsTruncated>true</IsTruncated>"
            "<Contents><Key>p/a%2Bb+c%C3%A4%01.jpg</Key><Owner><ID>p/no</ID></Owner></Contents>"
            "<CommonPrefixes><Prefix>p/d%20/</Prefix></CommonPrefixes>"
            "<NextContinuationToken>a&amp;b</NextContinuationToken>"
        )
    )
    assert made.names == ["p/a+b cä\x01.jpg"]
    assert made.folders == ["p/d /"]
    assert made.next == "a&b"


def plain_page(draw: random.Random) -> bytes:
    """As stores write them, with names of all kinds."""
    letters = "ab/ +%&<>'\"ä日\t;#"

    def word() -> str:
        return escape("".join(draw.choices(letters, k=draw.randrange(12))))

    before = ["", "<LastModified>2026</LastModified>", "<ETag>&quot;x&quot;</ETag>"]
    after = [
        "",
        "<StorageClass>S</StorageClass>",
        "<Owner><ID>p</ID><Key>no</Key></Owner>",
        "<Type>x</Type>",
    ]
    parts = [
        f"<Contents>{draw.choice(before[:2])}<Key>{word()}</Key>{draw.choice(before)}"
        f"<Size>{draw.randrange(10**12)}</Size>{draw.choice(after)}{draw.choice(after)}</Contents>"
        if draw.random() < 0.7
        else f"<CommonPrefixes><Prefix>{word()}/</Prefix></CommonPrefixes>"
        for _ in range(draw.randrange(8))
    ]
    more = draw.choice(["true", "false"])
    parts += [f"<Prefix>{word()}</Prefix>", "<Delimiter/>", f"<IsTruncated>{more}</IsTruncated>"]
    parts.append(f"<NextContinuationToken>t{word()}</NextContinuationToken>")
    if draw.random() < 0.5:
        parts.append("<EncodingType>url</EncodingType>")
    draw.shuffle(parts)
    return page("".join(parts), draw.choice(["", '<?xml version="1.0" encoding="UTF-8"?>\n']))


def test_a_page_is_read_fast_as_any_xml_is(monkeypatch):
    draw = random.Random(5)
    pages = [plain_page(draw) for _ in range(500)]
    assert all(parse_page(text) == parse_any_page(text) for text in pages)
    monkeypatch.setattr(listing, "parse_any_page", None)  # what stores write needs no other way
    for text in pages:
        parse_page(text)


@pytest.mark.parametrize(
    ("inner", "names"),
    [
        ("<Contents><Size>1</Size><Key>a</Key></Contents>", ["a"]),
        ("<Contents><!-- <Key>b</Key> --><Key>a</Key><Size>1</Size></Contents>", ["a"]),
        ("<Contents><Key><![CDATA[<a>]]></Key><Size>1</Size></Contents>", ["<a>"]),
        ("<Contents><Key>&#x85;&#97;</Key><Size>1</Size></Contents>", ["\x85a"]),
        ("<Contents><Key>a\r\nb</Key><Size>1</Size></Contents>", ["a\nb"]),
        ("<Contents><Key>a\nb</Key><Size>1</Size></Contents><Contents><Key>c</Key><Size>1</Size></Contents>", ["a\nb", "c"]),
        ("<Other><Contents><Key>x</Key></Contents></Other><Contents><Key>a</Key></Contents>", ["a"]),
    ],
)  # fmt: skip
def test_a_page_that_is_written_otherwise(inner, names):
    assert parse_page(page(inner)).names == names


def test_a_page_in_another_encoding():
    text = page("<Contents><Key>ä</Key><Size>1</Size></Contents>").decode()
    head = '<?xml version="1.0" encoding="ISO-8859-1"?>'
    assert parse_page(f"{head}{text}".encode("latin-1")).names == ["ä"]


def test_names_are_plain_where_the_store_does_not_encode():
    assert parse_page(page("<Contents><Key>a%20+b</Key></Contents>")).names == ["a%20+b"]


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"busy",
        b"<Error><Code>x</Code></Error>",
        page("<IsTruncated>true</IsTruncated>"),
        page("&a;", '<!DOCTYPE x [<!ENTITY a "aaaa">]>'),
        page("")[:-3],
        page("<Contents><Key>a\x01</Key><Size>1</Size></Contents>"),
        page("<Contents><Key>a</Key><Size>1</Size>"),
        page("<Contents><Key>@</Key><Size>1</Size></Contents>").replace(b"@", b"\xff"),
    ],
)
def test_what_is_no_list_is_an_error(text):
    with pytest.raises(ValueError, match="store's"):
        parse_page(text)


def test_packed_names_are_the_names():
    names = ["a/1.jpg", "", "ä/2.jpg", "a/1.jpg"]
    packed = PackedNames.joined([PackedNames.of(names[:2]), PackedNames.of(names[2:])])
    assert list(packed) == names
    assert packed[-1] == names[-1] and packed[1:3] == names[1:3]
    assert list(pickle.loads(pickle.dumps(packed))) == names
    assert list(PackedNames.joined([])) == []
    many = PackedNames.of(f"{'x' * (i % 5)}{i}" for i in range(10_000))  # several blocks
    assert list(many) == [many[i] for i in range(10_000)]
    with pytest.raises(IndexError):
        packed[4]
    with pytest.raises(ValueError, match="read-only"):
        packed.pool[0] = 1


def test_names_take_their_bytes_and_little_more():
    count = 100_000
    tracemalloc.start()
    try:
        packed = PackedNames.of(f"class{i % 10}/{i:08}.jpg" for i in range(count))
        kept = tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
    assert kept < count * (len("class0/00000000.jpg") + 9)
    assert len(packed) == count


def test_the_order_is_that_of_torchvision(tmp_path):
    names = [
        "a-b/1.jpg", "a/z.jpg", "a/b/c.jpg", "a/b-/d.JPEG", "a/b.png", "a/b/C.jpg", "a/notes.txt",
        "B/1.webp", "ä/ö.ppm", "a b/1.tif", "a/b/c/0.bmp",
    ]  # fmt: skip
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"")
    expected = datasets.ImageFolder(tmp_path)
    with serve(Store(objects_of(tmp_path, "p/q/") | {"p/q/root.jpg": b""}, page=2)) as store:
        made = headrace.open_dataset(f"s3://{BUCKET}/p/q", endpoint=store.url)
        base = f"s3://{BUCKET}/p/q/"
        assert made.classes == expected.classes and made.class_to_idx == expected.class_to_idx
        assert [(url.removeprefix(base), label) for url, label in made.samples] == [
            (path.removeprefix(f"{tmp_path}/"), label) for path, label in expected.samples
        ]
        assert made.targets.tolist() == expected.targets
        assert sum("list-type" in query for query in store.queries) > len(names) / 2
        store.objects["p/q/empty/x.txt"] = b""
        with pytest.raises(FileNotFoundError, match="empty"):
            headrace.open_dataset(f"s3://{BUCKET}/p/q", endpoint=store.url)
        with pytest.raises(FileNotFoundError, match="no folder"):
            headrace.open_dataset(f"s3://{BUCKET}/nowhere", endpoint=store.url)
    in_a = [path.removeprefix(f"{tmp_path}/") for path, label in expected.samples if label == 1]
    assert list(by_class(names)[expected.classes[1]]) == in_a
    assert list(ordered(PackedNames.of(["x/2.jpg", "x/1.jpg"]))) == ["x/1.jpg", "x/2.jpg"]


def test_over_https_names_or_an_index_say_what_there_is(photos):
    with serve(Store(objects_of(photos, "set/"))) as store:
        names = [name.removeprefix("set/") for name in store.objects]
        store.objects["set/index.txt"] = "\n".join(names).encode()
        expected = datasets.ImageFolder(photos)
        for how in ({"names": names[::-1]}, {"index": "index.txt"}):
            made = headrace.open_dataset(f"{store.url}/set", **how)
            assert made.targets.tolist() == expected.targets
            image, label = made[np.int64(len(made) - 1)]
            stock, stock_label = expected[-1]
            assert label == stock_label and image.tobytes() == stock.tobytes()
            assert made[-1][0].tobytes() == stock.tobytes()
        with pytest.raises(IndexError):
            made[len(made)]


@pytest.mark.parametrize(
    ("url", "how"),
    [
        ("https://host/x", {}),
        ("file:///x", {"names": []}),
        ("https://host/x?token=word", {"names": []}),
        ("https://user:word@host/x", {"names": []}),
        ("https://host/x", {"names": ["../a.jpg"]}),
        ("https://host/x", {"names": ["a/../b.jpg"]}),
        ("https://host/x", {"names": ["/a/b.jpg"]}),
        ("https://host/x", {"names": [], "index": "x"}),
        ("https://host/x", {"names": [], "remember": -1}),
        ("s3://bucket/x", {"names": [], "region": "a/b"}),
        ("s3://bucket/x", {"names": [], "addressing": "other"}),
    ],
)
def test_what_is_wrong_is_refused_without_secrets(url, how):
    with pytest.raises(ValueError) as error:
        headrace.open_dataset(url, **how)
    assert "word" not in str(error.value)


def test_listing_and_reading_go_through_a_storm(photos):
    faults = Faults(seed=7, busy=0.2, throttled=0.1, cut=0.1)
    expected = datasets.ImageFolder(photos)
    with serve(Store(objects_of(photos, "p/"), faults, page=5)) as store:
        made = headrace.open_dataset(f"s3://{BUCKET}/p", endpoint=store.url)
        assert [image.tobytes() for image, _ in made] == [image.tobytes() for image, _ in expected]
        assert len(store.queries) > len(expected) + 10


def test_an_object_that_is_gone_is_an_error_that_names_it(photos):
    with serve(Store(objects_of(photos, "p/"))) as store:
        made = headrace.open_dataset(f"s3://{BUCKET}/p", endpoint=store.url)
        store.objects.clear()
        with pytest.raises(FileNotFoundError, match=f"{store.url}/{BUCKET}/p/class0/000.jpg: 404"):
            made[0]
