"""Pictures from leaves are PIL's: the pixels, all that an image has beside them, errors, and what may be written."""

import io
import os
import pickle
import random
import re
import warnings
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFile, ImageOps, PngImagePlugin
from support.leaf_worker import LeafWorker
from support.own_process import in_own_process
from support.picture_streams import STREAMS, archives, by_file, by_name, own_stream
from support.stage_pictures import SEED, deferred_class, enable, photo

FORMATS = (
    ("PNG", ("1", "L", "LA", "P", "RGB", "RGBA", "I;16")),
    ("JPEG", ("L", "RGB", "CMYK")),
    ("GIF", ("P",)),
    ("TIFF", ("RGB", "L")),
    ("BMP", ("RGB", "L")),
    ("WEBP", ("RGB", "RGBA")),
)


def noise(rng, mode):
    size = rng.randint(1, 70), rng.randint(1, 70)
    if mode == "I;16":
        return Image.frombytes(mode, size, rng.randbytes(2 * size[0] * size[1]))
    image = Image.frombytes("RGBA", size, rng.randbytes(4 * size[0] * size[1]))
    return image.convert("RGB").convert(mode) if mode in ("1", "P", "CMYK") else image.convert(mode)


def write(path, rng):
    """Some picture that a program may have; returns its format."""
    form, modes = rng.choice(FORMATS)
    mode = rng.choice(modes)
    options = {}
    if form == "PNG":
        told = PngImagePlugin.PngInfo()
        told.add_text("key", "value" * rng.randrange(40), zip=rng.random() < 0.5)
        options = {"pnginfo": told}
        if mode in ("P", "L", "RGB") and rng.random() < 0.4:
            options["transparency"] = (1, 2, 3) if mode == "RGB" else 3
        if rng.random() < 0.2:
            more = [noise(rng, mode).resize((9, 9)) for _ in range(2)]
            options = {"save_all": True, "append_images": more}
    elif form == "JPEG":
        exif = Image.Exif()
        exif[0x0112] = rng.randrange(1, 9)
        options = {"exif": exif, "progressive": rng.random() < 0.3, "quality": rng.randint(20, 95)}
    noise(rng, mode).save(path, form, **options)
    if rng.random() < 0.15:
        os.truncate(path, rng.randint(1, os.path.getsize(path)))
    return form


def look(path, ways, opens=by_name):
    """All that a program sees of it: values, errors and warnings."""
    seen = []
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            with opens(path) as stream:
                seen += seen_of(stream, ways)
                if stream is not path:
                    seen.append(stream.closed or (stream.tell(), stream.read(9)))
        except Exception as error:
            seen.append(told(error))
    return seen, sorted(str(one.message) for one in heard)


def seen_of(stream, ways):
    seen = []
    try:
        with Image.open(stream) as image:
            for way, argument in ways:
                seen.append(state(image))
                image = way(image, argument)
                seen.append(bytes_of(image))
                if hasattr(stream, "tell"):
                    seen.append(stream.closed or stream.tell())
            seen.append(state(image))
    except Exception as error:
        seen.append(told(error))
    return seen


def told(error):
    return type(error), re.sub("0x[0-9a-f]+", "", str(error))


def state(image):
    info = {
        key: value
        for key, value in image.info.items()
        if isinstance(value, (str, int, bytes, tuple))
    }
    palette = image.getpalette() if image.mode == "P" else None
    has_file = getattr(image, "fp", None) is not None
    exif = dict(image.getexif()) if isinstance(image, ImageFile.ImageFile) else None
    text = dict(getattr(image, "text", {}) or {})
    return image.mode, image.size, image.format, info, palette, has_file, exif, text, image.readonly


def bytes_of(image):
    return (image.mode, image.size, image.tobytes()) if isinstance(image, Image.Image) else image


def written(image, at):
    image.putpixel((at % image.width, 0), image.getpixel((0, at % image.height)))
    return image


def filled(image, _):
    image.paste(image.getpixel((0, 0)), (0, 0, *image.size))
    return image


def drafted(image, side):
    image.draft("L", (side, side))
    return image


def loaded(image, _):
    image.load()
    return image


def thumbnail(image, side):
    image.thumbnail((side, side))
    return image


WAYS = (
    (loaded, (0,)),
    (drafted, (1, 10, 30)),
    (thumbnail, (5, 40)),
    (written, (0, 3, 60)),
    (filled, (0,)),
    (lambda image, mode: image.convert(mode), ("RGB", "L", "RGBA", "CMYK", "P")),
    (lambda image, side: image.resize((side, side)), (3, 90)),
    (lambda image, side: image.crop((1, 1, side, side)), (2, 30)),
    (lambda image, side: image.resize((side, 7), box=(0, 0, 1, 1)), (4,)),
    (lambda image, _: image.copy(), (0,)),
    (lambda image, _: ImageOps.exif_transpose(image), (0,)),
    (lambda image, _: image.rotate(90), (0,)),
    (lambda image, _: pickle.loads(pickle.dumps(image)), (0,)),
    (lambda image, _: Image.fromarray(np.array(image.convert("RGB"))), (0,)),
    (lambda image, _: image.getchannel(0), (0,)),
    (lambda image, _: image.reduce(2), (0,)),
)


def any_ways(rng):
    ways = [rng.choice(WAYS) for _ in range(rng.randint(1, 4))]
    return [(way, rng.choice(arguments)) for way, arguments in ways]


def keep_all():
    """Whatever it costs, and however young it is."""
    from headrace.stage import leaf_cost, leaves

    leaf_cost.is_worth = lambda seconds, size, first: True
    leaves.STEP_NS = 0


def lanes(worker, defers):
    """As in the stock loader's workers, and as in lanes with leaves."""
    from headrace.stage import leaf_pictures

    if defers:
        enable()
    leaf_pictures.enable()
    keep_all()


def compare(folder, defers, cases, streams=(by_name,)):
    """Each picture, looked at as PIL does it, then by the lane that keeps it, then by two that find it."""
    rng = random.Random(SEED + defers)
    made = []
    for case in range(cases):
        path = Path(folder) / str(case)
        write(path, rng)
        if streams != (by_name,):
            archives(path)
        for ways in (any_ways(rng), any_ways(rng)):
            opens = rng.choice(streams)
            made.append((path, ways, opens, look(path, ways, opens)))
    worker = LeafWorker()
    lanes(worker, defers)
    for lane in range(3):
        worker.lane()
        for case, (path, ways, opens, stock) in enumerate(made):
            now = look(path, ways, opens)
            assert now == stock, f"seed {SEED} lane {lane} case {case} {opens.__name__}"
    worker.lane()
    assert worker.hits > cases / 4, "or nothing was compared"
    assert worker.entries > cases / 8


@in_own_process
def test_any_picture_is_pils(tmp_path):
    compare(tmp_path, False, 200)


@in_own_process
def test_any_picture_is_pils_where_pictures_are_deferred(tmp_path):
    compare(tmp_path, True, 200)


@in_own_process
def test_any_picture_of_a_stream_is_pils(tmp_path):
    compare(tmp_path, False, 200, STREAMS)


@in_own_process
def test_any_picture_of_a_stream_is_pils_where_pictures_are_deferred(tmp_path):
    compare(tmp_path, True, 200, STREAMS)


@in_own_process
def test_a_program_that_writes_into_a_picture_does_not_change_what_is_kept(tmp_path):
    worker, path = LeafWorker(), Path(tmp_path) / "a.png"
    noise(random.Random(SEED), "RGB").resize((40, 40)).save(path)
    stock = Image.open(path).tobytes()
    lanes(worker, False)
    for _ in range(3):
        worker.lane()
        for _ in range(2):
            image = Image.open(path)
            assert image.tobytes() == stock
            image.paste((1, 2, 3), (0, 0, 40, 40))
            image.putpixel((0, 0), (9, 9, 9))
            array = np.array(Image.open(path))
            array[:] = 0
    worker.lane()
    assert worker.hits == 8 and worker.entries == 1


@in_own_process
def test_pixels_of_a_deferred_picture_that_is_kept_are_whole_and_cannot_be_written(tmp_path):
    worker, path = LeafWorker(), Path(tmp_path) / "a.jpg"
    path.write_bytes(photo(random.Random(SEED), (60, 60)))
    stock = np.array(Image.open(path).convert("RGB"))
    lanes(worker, True)
    for lane in range(4):
        worker.lane()
        image = Image.open(path).convert("RGB")
        assert type(image) is deferred_class("DeferredImage")
        shown = np.asarray(image)
        assert not shown.flags.writeable and np.array_equal(shown, stock), lane
        first, second = image.crop((5, 5, 30, 30)), image.resize((20, 20))
        assert np.array_equal(np.asarray(first), stock[5:30, 5:30])
        assert second.tobytes() == Image.fromarray(stock).resize((20, 20)).tobytes()
        taken = np.array(Image.open(path).convert("RGB"))
        taken[:] = 0
    worker.lane()
    assert worker.entries == 1 and worker.hits >= 6


@in_own_process
def test_files_that_the_program_has_opened_are_kept_only_where_they_can_be_named(tmp_path):
    worker, path = LeafWorker(), Path(tmp_path) / "a.jpg"
    path.write_bytes(photo(random.Random(SEED), (60, 60)))
    stock = Image.open(path).convert("RGB").tobytes()
    lanes(worker, True)
    for _ in range(3):
        worker.lane()
        with path.open("rb") as file:  # as torchvision's loader does
            assert Image.open(file).convert("RGB").tobytes() == stock
        assert Image.open(io.BytesIO(path.read_bytes())).convert("RGB").tobytes() == stock
    worker.lane()
    assert (worker.entries, worker.hits) == (2, 4), "one by the file's name, and one by its bytes"


@pytest.mark.parametrize("opens", STREAMS)
def test_a_stream_stays_where_it_is_when_its_bytes_are_taken(opens, tmp_path):
    from headrace.stage.leaf_streams import bytes_of

    path = tmp_path / "a.jpg"
    path.write_bytes(photo(random.Random(SEED), (60, 60)))
    archives(path)
    for at in (0, 1, 700, path.stat().st_size):
        with opens(path) as stream:
            stream.read(at)
            taken = bytes_of(stream)
            assert stream.tell() == at and stream.read() == path.read_bytes()[at:]
            assert taken == (path.read_bytes() if opens not in (by_file, own_stream) else None)


@in_own_process
def test_a_setting_of_pils_is_heeded(tmp_path):
    worker, path = LeafWorker(), Path(tmp_path) / "a.png"
    noise(random.Random(SEED), "RGB").resize((50, 50)).save(path)
    lanes(worker, False)
    worker.lane()
    stock = Image.open(path).tobytes()
    worker.lane()
    ImageFile.LOAD_TRUNCATED_IMAGES = True
    assert Image.open(path).tobytes() == stock
    worker.lane()
    assert worker.hits == 0, "what PIL makes of damage it makes itself"


@in_own_process
def test_a_pil_that_the_program_has_changed_is_left_alone(tmp_path):
    worker, path = LeafWorker(), Path(tmp_path) / "a.png"
    noise(random.Random(SEED), "RGB").save(path)
    real, calls = Image._getdecoder, []
    Image._getdecoder = lambda *args, **named: calls.append(args) or real(*args, **named)
    lanes(worker, False)
    for _ in range(3):
        worker.lane()
        Image.open(path).load()
    assert len(calls) == 3 and worker.misses == 0


@in_own_process
def test_a_photograph_is_kept_from_the_second_iteration_on(tmp_path):
    from headrace.stage import leaf_cost, leaf_pictures, leaves

    rng = random.Random(SEED)
    worker, slow = LeafWorker(), Path(tmp_path) / "a.png"
    Image.frombytes("RGB", (1200, 900), bytes(rng.choices(range(64), k=1200 * 900 * 3))).save(
        slow, compress_level=9
    )
    photo_file = Path(tmp_path) / "a.jpg"
    photo_file.write_bytes(photo(rng, (500, 500)))
    enable()
    leaf_pictures.enable()
    leaves.STEP_NS = 0
    for _ in range(9):
        worker.lane(first=True)
        Image.open(photo_file).convert("RGB").crop((0, 0, 100, 100)).tobytes()
    assert worker.entries == 0 and worker.misses > 0
    leaf_cost.is_worth = lambda seconds, size, first: not first
    for _ in range(3):
        worker.lane(first=False)
        Image.open(photo_file).convert("RGB").crop((0, 0, 100, 100)).tobytes()
        Image.open(slow).load()
    assert worker.entries == 2


@in_own_process
def test_pictures_of_bytes_that_were_not_worth_it_are_tried_again(tmp_path):
    from headrace.stage import leaf_cost, render

    worker, worth = LeafWorker(), [False]
    content = photo(random.Random(SEED), (60, 60))
    lanes(worker, True)
    leaf_cost.is_worth = lambda seconds, size, first: worth[0]
    worker.lane()
    for _ in range(40):
        Image.open(io.BytesIO(content)).convert("RGB").crop((0, 0, 30, 30)).tobytes()
    assert render.worth.poor >= leaf_cost.Worth.LAST
    worth[0] = True
    for _ in range(40):
        Image.open(io.BytesIO(content)).convert("RGB").crop((0, 0, 30, 30)).tobytes()
    worker.lane()
    assert worker.entries == 1
