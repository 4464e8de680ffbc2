"""Pictures in Python stages: PIL's interface with native operators gives PIL's own bits."""

import io
import pickle
import random
from pathlib import Path

import numpy as np
import PIL
import pytest
from PIL import Image, ImageOps, JpegImagePlugin
from support.own_process import in_own_process
from support.photos import without_tables
from support.stage_pictures import SEED, deferred_class, enable, photo, plain


def any_step(rng, size):
    """A call of PIL's as (name, arguments), for an image of that size."""
    width, height = size
    kind = rng.choice(("crop", "crop", "resize", "transpose", "copy"))
    if kind == "crop":
        left, top = rng.randint(-20, width), rng.randint(-20, height)
        right, bottom = left + rng.randint(1, width + 30), top + rng.randint(1, height + 30)
        edges = (left, top, right, bottom)
        if rng.random() < 0.3:
            edges = tuple(edge + rng.choice((0.0, 0.25, 0.5)) for edge in edges)
        return "crop", (edges,)
    if kind == "resize":
        return "resize", ((rng.randint(1, 260), rng.randint(1, 260)), rng.randrange(6))
    if kind == "transpose":
        return "transpose", (rng.randrange(7),)
    return "copy", ()


def ways_to_look(rng):
    """What a program may do to see an image's pixels."""
    return rng.choice(
        (
            lambda image: image.tobytes(),
            lambda image: np.asarray(image).tobytes(),
            lambda image: image.convert("L").tobytes(),
            lambda image: image.rotate(7).tobytes(),
            lambda image: bytes(image.getpixel((0, 0))),
            lambda image: pickle.loads(pickle.dumps(image)).tobytes(),
        )
    )


@in_own_process
def test_any_sequence_of_steps_has_pils_bits():
    images = enable()
    rng = random.Random(SEED)
    for case in range(400):
        file = photo(rng, gray=rng.random() < 0.1, progressive=rng.random() < 0.1)
        ours, theirs = Image.open(io.BytesIO(file)), plain(file)
        ours = ours.convert("RGB")
        assert type(ours) is deferred_class("DeferredImage")
        for _ in range(rng.randrange(5)):
            name, arguments = any_step(rng, theirs.size)
            ours, theirs = getattr(ours, name)(*arguments), getattr(theirs, name)(*arguments)
            assert ours.size == theirs.size and ours.mode == theirs.mode, (SEED, case, name)
            assert ours.info == theirs.info
        look = ways_to_look(rng)
        assert look(ours) == look(theirs), (SEED, case)
    assert images._current.made > 200, "hardly any was made natively"


@in_own_process
def test_opened_file_without_convert():
    enable()
    rng = random.Random(SEED)
    for _ in range(40):
        file = photo(rng, (20, 90))
        opened, theirs = Image.open(io.BytesIO(file)), plain(file)
        assert opened.crop((3, 4, 17, 19)).tobytes() == theirs.crop((3, 4, 17, 19)).tobytes()
        # The same object goes on being what PIL opened.
        assert opened.resize((7, 9)).tobytes() == theirs.resize((7, 9)).tobytes()
        assert opened.format == "JPEG" and opened.tobytes() == theirs.tobytes()


@in_own_process
def test_loaded_file_is_deferred_too(tmp_path):
    """load() only closes the file, until somebody looks at it."""
    images = enable()
    rng = random.Random(SEED)
    path = tmp_path + "/photo.jpg"
    for case in range(200):
        file = photo(rng, (20, 90), gray=rng.random() < 0.2)
        Path(path).write_bytes(file)
        opened, theirs = Image.open(path), plain(file)
        access = opened.load()
        assert type(opened) is deferred_class("LoadedImage") and opened.fp is None, (
            "the file is open"
        )
        assert opened.load_end() is None and opened.draft("RGB", (5, 5)) is None
        ours = opened.convert("RGB")
        assert type(ours) is deferred_class("DeferredImage")
        for _ in range(rng.randrange(3)):
            name, arguments = any_step(rng, theirs.size)
            ours, theirs = getattr(ours, name)(*arguments), getattr(theirs, name)(*arguments)
        look = ways_to_look(rng)
        assert look(ours) == look(theirs), (SEED, case)
        # Now at the opened one itself.
        images._current.on = False
        expected = Image.open(path)
        first = expected.load()[3, 4]
        images._current.on = True
        if rng.random() < 0.3:
            assert access[3, 4] == first
        elif rng.random() < 0.3:
            opened.thumbnail((9, 9))
            expected.thumbnail((9, 9))
        elif rng.random() < 0.3:
            assert opened == expected and Image.open(path) == expected
        else:
            assert look(opened) == look(expected), (SEED, case)
        assert (opened.size, opened.mode, opened.readonly) == (expected.size, expected.mode, 0)
        assert opened.tobytes() == expected.tobytes()
        assert type(opened) is JpegImagePlugin.JpegImageFile and opened.format == "JPEG"
        assert opened.fp is None and opened.tile == []
    assert images._current.made > 100, "hardly any was made natively"


@in_own_process
def test_file_of_which_a_part_was_taken_is_as_decoded(tmp_path):
    """Whatever makes another image of an opened one decodes it: draft(), and thumbnail() by it, have
    no effect then, and the image outlives its `with`."""
    images = enable()
    rng = random.Random(SEED)
    path = tmp_path + "/photo.jpg"
    firsts = {
        "convert": lambda i: i.convert("RGB"),
        "copy": lambda i: i.copy(),
        "crop": lambda i: i.crop((1, 2, 30, 20)),
        "resize": lambda i: i.resize((9, 8)),
        "transpose": lambda i: i.transpose(0),
    }
    looks = {
        "draft": lambda i: (i.draft("L", (9, 9)), i.size, i.mode, i.tobytes()),
        "thumbnail": lambda i: (i.thumbnail((12, 12)), i.size, i.tobytes()),
        "verify": lambda i: i.verify(),
        "seen": lambda i: (i.tile, i.fp, i.readonly, i.tell(), i.tobytes()),
    }
    for first, begin in firsts.items():
        for name, look in looks.items():
            Path(path).write_bytes(photo(rng, (60, 200)))
            made = []
            for images._current.on in (True, False):
                opened = Image.open(path)
                part = begin(opened)
                with Image.open(path) as held:
                    begin(held)
                made.append((look(opened), part.tobytes(), held.tobytes()))
            assert made[0] == made[1], (SEED, first, name)


@in_own_process
def test_loaded_file_may_be_changed_or_closed():
    enable()
    file = photo(random.Random(SEED), (30, 60))
    opened, expected = Image.open(io.BytesIO(file)), plain(file)
    opened.load()[1, 2] = expected.load()[1, 2] = (250, 3, 250)
    assert opened.tobytes() == expected.tobytes()
    with Image.open(io.BytesIO(file)) as opened:
        opened.load()
    assert opened.tobytes() == plain(file).tobytes()
    opened = Image.open(io.BytesIO(file))
    opened.load()
    opened.close()
    with pytest.raises(ValueError, match="closed image"):
        opened.tobytes()


@in_own_process
def test_exif_orientation():
    images = enable()
    rng = random.Random(SEED)
    for orientation in range(10):
        exif = Image.Exif()
        exif[0x0112] = orientation
        file = photo(rng, (20, 60), exif=exif)
        mine = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
        images._current.on = False
        theirs = ImageOps.exif_transpose(Image.open(io.BytesIO(file)))
        images._current.on = True
        assert (type(mine) is deferred_class("DeferredImage")) == (orientation not in range(2, 9))
        assert type(theirs) is Image.Image and mine == theirs
        assert dict(mine.getexif()) == dict(theirs.getexif())


@in_own_process
def test_to_tensor():
    import torch
    from torchvision import transforms
    from torchvision.transforms import functional

    images = enable()
    rng = random.Random(SEED)
    tail = transforms.Compose([transforms.RandomResizedCrop(32), transforms.RandomHorizontalFlip()])
    for case in range(60):
        file = photo(rng, (8, 200))
        torch.manual_seed(case)
        mine = functional.to_tensor(tail(Image.open(io.BytesIO(file)).convert("RGB")))
        torch.manual_seed(case)
        theirs = functional.to_tensor(tail(plain(file)))
        assert mine.dtype == theirs.dtype and mine.stride() == theirs.stride()
        assert torch.equal(mine, theirs), (SEED, case)
        mine += 1  # it is the program's own memory
    assert images._current.made >= 60


@in_own_process
def test_looks_like_a_plain_image():
    enable()
    file = photo(random.Random(SEED), (30, 60))
    theirs = plain(file)

    def fresh():
        return Image.open(io.BytesIO(file)).convert("RGB")

    assert isinstance(fresh(), Image.Image) and type(fresh()) is deferred_class("DeferredImage")
    assert f"{type(fresh())}" == f"{Image.Image}"
    assert fresh() == theirs and theirs == fresh() and fresh() == fresh()
    assert type(pickle.loads(pickle.dumps(fresh()))) is Image.Image
    assert np.asarray(fresh()).flags.writeable == np.asarray(theirs).flags.writeable
    thumbnail, expected = fresh(), theirs.copy()
    thumbnail.thumbnail((20, 20))
    expected.thumbnail((20, 20))
    assert thumbnail == expected
    painted, expected = fresh(), theirs.copy()
    for image in (painted, expected):
        image.paste((1, 2, 3), (2, 2, 9, 9))
        image.putpixel((0, 0), (9, 8, 7))
    assert painted == expected
    merged = Image.merge("RGB", fresh().split())
    assert merged == Image.merge("RGB", theirs.split())
    blended = Image.blend(fresh(), fresh().transpose(0), 0.5)
    assert blended == Image.blend(theirs, theirs.transpose(0), 0.5)
    assert ImageOps.exif_transpose(fresh()) == theirs
    with pytest.raises(TypeError):
        hash(fresh())


@in_own_process
def test_what_pil_was_told_is_not_passed_over():
    """draft() changes what is decoded; other modes, formats and subclasses are PIL's alone."""
    images = enable()
    rng = random.Random(SEED)
    file = photo(rng, (200, 300))
    drafted = Image.open(io.BytesIO(file))
    drafted.draft("RGB", (50, 50))
    assert type(drafted.convert("RGB")) is Image.Image
    opened = Image.open(io.BytesIO(file))
    opened.getpixel((0, 0))
    assert type(opened.convert("RGB")) is Image.Image
    png = io.BytesIO()
    plain(file).save(png, "PNG")
    assert type(Image.open(png).convert("RGB")) is Image.Image
    cmyk = io.BytesIO()
    plain(file, "CMYK").save(cmyk, "JPEG")
    assert type(Image.open(cmyk).convert("RGB")) is Image.Image
    images._current.on = False  # between batches
    with images.deferring():
        assert type(Image.open(io.BytesIO(file)).convert("RGB")) is deferred_class("DeferredImage")
    assert type(Image.open(io.BytesIO(file)).convert("RGB")) is Image.Image


@in_own_process
def test_file_may_be_closed_by_then(tmp_path):
    enable()
    path = f"{tmp_path}/photo.jpg"
    file = photo(random.Random(SEED), (30, 60))
    with open(path, "wb") as out:
        out.write(file)
    with open(path, "rb") as stream:
        opened = Image.open(stream)
        image = opened.convert("RGB")
    assert image == plain(file) and opened.getpixel((0, 0)) == plain(file).getpixel((0, 0))
    with Image.open(path) as opened:
        image = opened.convert("RGB")
    assert image == plain(file)
    image = Image.open(path).convert("RGB")  # no ResourceWarning: they are errors here
    assert image == plain(file)


@in_own_process
def test_truncated_file_raises_where_pil_raises():
    enable()
    for cut in (2, 200, 2000):
        file = photo(random.Random(SEED), (200, 300))[:-cut]
        with pytest.raises(OSError, match="truncated"):
            plain(file)
        with pytest.raises(OSError, match="truncated"):
            Image.open(io.BytesIO(file)).convert("RGB")
        with pytest.raises(OSError, match="truncated"):
            Image.open(io.BytesIO(file)).load()


@in_own_process
def test_damaged_file_ends_the_batch_behind_the_programs_back():
    from headrace.stage.redo import Redo

    images = enable()
    file = without_tables(photo(random.Random(SEED), (200, 300)))
    image = Image.open(io.BytesIO(file)).convert("RGB")
    with pytest.raises(Redo):
        try:
            image.crop((1, 1, 9, 9)).tobytes()
        except Exception:
            pytest.fail("user code that skips damaged files must not see it")
    images._current.on = False
    with pytest.raises(OSError, match="broken data stream"):
        Image.open(io.BytesIO(file)).convert("RGB")
    with images.deferring():
        opened = Image.open(io.BytesIO(file))
        opened.load()
        with pytest.raises(Redo):
            opened.getpixel((0, 0))
    opened = Image.open(io.BytesIO(file))
    with pytest.raises(OSError, match="broken data stream"):
        opened.load()


@in_own_process
def test_wrong_arguments_raise_what_pil_raises():
    enable()
    file = photo(random.Random(SEED), (30, 60))
    for wrong in (
        lambda image: image.crop((1, 2, 3)),
        lambda image: image.crop((1, 2, "x", 4)),
        lambda image: image.crop((9, 9, 3, 3)),
        lambda image: image.resize((3, 3), 77),
        lambda image: image.resize((3, 3), 2.0),
        lambda image: image.resize("ab"),
        lambda image: image.transpose(1.0),
        lambda image: image.transpose(99),
    ):
        with pytest.raises(Exception) as theirs:
            wrong(plain(file))
        with pytest.raises(theirs.type) as ours:
            wrong(Image.open(io.BytesIO(file)).convert("RGB"))
        assert str(ours.value) == str(theirs.value)


@in_own_process
def test_a_step_that_differs_is_pils_from_then_on():
    import contextlib

    images = enable()
    host = images._current

    class Wrong:
        """Renders resizes one bit off, as another PIL would have them."""

        def __init__(self, real):
            self.real = real

        def render(self, file, nodes):
            array = self.real.render(file, nodes)
            if any(name == "resize" for name, _ in nodes):
                array[0, 0, 0] ^= 1
            return array

    host.renderer = Wrong(host.renderer)
    file = photo(random.Random(SEED), (100, 200))
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        for _ in range(4):
            image = Image.open(io.BytesIO(file)).convert("RGB").crop((5, 5, 80, 90))
            small = image.resize((30, 31), Image.Resampling.BILINEAR).transpose(0)
            expected = plain(file).crop((5, 5, 80, 90)).resize((30, 31), 2).transpose(0)
            assert small == expected
    assert said.getvalue() == (
        f"headrace: resize gives other bits natively than PIL {PIL.__version__} does: PIL does it\n"
    )
    assert host.kept == {"resize"} and host.made > 0


@in_own_process
def test_kept_steps_are_pils():
    enable("crop")
    file = photo(random.Random(SEED), (100, 200))
    image = Image.open(io.BytesIO(file)).convert("RGB").transpose(1)
    assert type(image) is deferred_class("DeferredImage")
    assert type(image.crop((1, 1, 5, 5))) is Image.Image
