"""Makes what the programs of bench/real read: pictures, sound, clouds of points, text, tokens and tables.

All of it is drawn from one seed. Pictures have the sizes and bytes of photographs (a long side of 330
to 640 pixels, about 80 kB), a photograph's spectrum with edges in it, and Huffman tables of their own,
because these decide how long a decoder works. What they show is nothing. `--share 0.25` makes a quarter of
the files, of the same sizes, for looking at equality and not at speed.
"""

import argparse
import hashlib
import json
import pathlib
import shutil
import zipfile

import made_sequences
import numpy as np
from PIL import Image, ImageDraw, PngImagePlugin

SHAPES = [(500, 375), (500, 333), (375, 500), (640, 480), (500, 500), (400, 330)]
CLASSES = ("bridge", "canoe", "fern", "kettle", "lantern", "otter", "piano", "tram")
PER_CLASS = 24


def scene(rng: np.random.Generator, width: int, height: int) -> Image.Image:
    """RGB: noise whose amplitude falls with its frequency, as in photographs, and a few flat shapes."""
    fy, fx = np.fft.fftfreq(height)[:, None], np.fft.rfftfreq(width)[None]
    fall = 1 / np.maximum(np.hypot(fy, fx), 1 / max(width, height)) ** 1.15
    planes = []
    for _ in range(3):
        spectrum = rng.standard_normal((height, fx.size)) + 1j * rng.standard_normal(
            (height, fx.size)
        )
        planes.append(np.fft.irfft2(spectrum * fall, (height, width)))
    grey, *tints = (plane / plane.std() for plane in planes)
    rgb = np.stack([grey, 0.9 * grey + 0.3 * tints[0], 0.8 * grey + 0.4 * tints[1]], -1)
    picture = Image.fromarray(np.clip(118 + 46 * rgb, 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(picture)
    for _ in range(int(rng.integers(4, 9))):
        x, y = rng.uniform(0, width), rng.uniform(0, height)
        corners = rng.uniform(-0.2, 0.2, (5, 2)) * min(width, height) + (x, y)
        draw.polygon(
            [tuple(c) for c in corners], fill=tuple(int(v) for v in rng.integers(0, 256, 3))
        )
    return picture


def save_jpeg(picture: Image.Image, path: pathlib.Path, rng: np.random.Generator) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    sampling = "4:2:0" if rng.random() < 0.4 else "4:4:4"
    picture.save(
        path, "JPEG", quality=int(rng.integers(84, 93)), subsampling=sampling, optimize=True
    )


def shape(rng: np.random.Generator) -> tuple[int, int]:
    return SHAPES[rng.integers(len(SHAPES))]


def make_photos(root: pathlib.Path, rng: np.random.Generator, share: float) -> list[dict]:
    """photos/CLASS/N.jpg, with masks, 16-bit depth, boxes, joints and captions of each."""
    notes = []
    for label, name in enumerate(CLASSES):
        for number in range(int(PER_CLASS * share)):
            width, height = shape(rng)
            path = root / "photos" / name / f"{number:03}.jpg"
            save_jpeg(scene(rng, width, height), path, rng)
            stem = f"{name}_{number:03}"
            mask = rng.integers(0, 21, (height // 40 + 1, width // 40 + 1)).astype(np.uint8)
            save_png(
                Image.fromarray(mask).resize((width, height), 0), root / "masks" / f"{stem}.png"
            )
            depth = rng.uniform(500, 9000, (height // 50 + 2, width // 50 + 2)).astype(np.float32)
            depth = np.asarray(Image.fromarray(depth).resize((width, height), 2))
            save_png(Image.fromarray(depth.astype(np.uint16)), root / "depth" / f"{stem}.png")
            notes.append(note(rng, path.relative_to(root), stem, label, width, height))
    return notes


def note(rng, path: pathlib.Path, stem: str, label: int, width: int, height: int) -> dict:
    count = int(rng.integers(1, 9))
    xy = rng.uniform(0, 0.7, (count, 2)) * (width, height)
    wh = rng.uniform(0.08, 0.3, (count, 2)) * (width, height)
    joints = rng.uniform(0.1, 0.9, (17, 2)) * (width, height)
    return {
        "file": str(path), "stem": stem, "label": label, "width": width, "height": height,
        "boxes": np.hstack([xy, wh]).round(1).tolist(),
        "classes": rng.integers(1, 80, count).tolist(),
        "joints": np.hstack([joints, rng.integers(0, 3, (17, 1))]).round(1).tolist(),
        "captions": [made_sequences.sentence(rng, 6, 16) for _ in range(5)],
    }  # fmt: skip


def save_png(picture: Image.Image, path: pathlib.Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    picture.save(path, "PNG", pnginfo=PngImagePlugin.PngInfo())


def make_annotations(root: pathlib.Path, notes: list[dict]) -> None:
    """The same notes in the layouts that detectors, pose networks and captioners read."""
    images, annotations = [], []
    labels = root / "yolo"
    labels.mkdir()
    for number, one in enumerate(notes):
        images.append(
            {"id": number, "file_name": one["file"], **{k: one[k] for k in ("width", "height")}}
        )
        lines = []
        for (x, y, w, h), kind in zip(one["boxes"], one["classes"], strict=True):
            annotations.append(
                {"id": len(annotations), "image_id": number, "bbox": [x, y, w, h], "area": w * h,
                 "category_id": kind, "iscrowd": 0}
            )  # fmt: skip
            centre = ((x + w / 2) / one["width"], (y + h / 2) / one["height"])
            lines.append(
                f"{kind} {centre[0]:.5f} {centre[1]:.5f} {w / one['width']:.5f} {h / one['height']:.5f}"
            )
        (labels / f"{one['stem']}.txt").write_text("\n".join(lines) + "\n")
    write_json(root / "instances.json", {"images": images, "annotations": annotations})
    write_json(root / "notes.json", notes)
    rows = [f'{one["file"]},"{text}",{one["label"]}' for one in notes for text in one["captions"]]
    (root / "captions.csv").write_text("image,caption,label\n" + "\n".join(rows) + "\n")


def write_json(path: pathlib.Path, value: object) -> None:
    path.write_text(json.dumps(value))


def make_folders(root: pathlib.Path, rng: np.random.Generator, share: float) -> None:
    """Sets of pictures of other sizes: PNG for super-resolution, pairs, crops of people, frames, glyphs."""
    for number in range(int(24 * share)):
        save_png(scene(rng, 768, 576), root / "sharp" / f"{number:04}.png")
    for number in range(int(48 * share)):
        save_jpeg(scene(rng, 256, 256), root / "unpaired" / "trainA" / f"{number}.jpg", rng)
        save_jpeg(scene(rng, 256, 256), root / "unpaired" / "trainB" / f"{number}.jpg", rng)
        save_jpeg(scene(rng, 512, 256), root / "facades" / f"{number}.jpg", rng)
    for person in range(24):
        for camera in range(6):
            name = f"{person:04}_c{camera + 1}s1_{int(rng.integers(10**5)):06}_00.jpg"
            save_jpeg(scene(rng, 64, 128), root / "people" / name, rng)
    for clip in range(int(16 * share)):
        for frame in range(24):
            save_jpeg(
                scene(rng, 340, 256),
                root / "frames" / f"clip{clip:02}" / f"img_{frame:05}.jpg",
                rng,
            )
    for alphabet in range(10):
        for glyph in range(20):
            picture = (
                scene(rng, 105, 105).convert("L").point(lambda v: 255 * (v > 120)).convert("1")
            )
            save_png(picture, root / "glyphs" / f"a{alphabet}" / f"{glyph:02}.png")
    with zipfile.ZipFile(root / "faces.zip", "w") as archive:
        for number in range(int(96 * share)):
            picture = scene(rng, 256, 256)
            with archive.open(f"{number // 32:05}/img{number:08}.png", "w") as file:
                picture.save(file, "PNG")


def make_stereo(root: pathlib.Path, rng: np.random.Generator, share: float) -> None:
    """Pairs of frames with dense motion between them, in Middlebury's layout."""
    folder = root / "flow"
    folder.mkdir()
    for number in range(int(32 * share)):
        for side in (1, 2):
            scene(rng, 512, 384).save(folder / f"{number:05}_img{side}.ppm")
        motion = rng.uniform(-8, 8, (384, 512, 2)).astype("<f4")
        head = np.float32(202021.25).tobytes() + np.array([512, 384], "<i4").tobytes()
        (folder / f"{number:05}_flow.flo").write_bytes(head + motion.tobytes())


def make_scans(root: pathlib.Path, rng: np.random.Generator, share: float) -> None:
    """Slices, volumes and satellite tiles."""
    for folder in ("slices", "tiles"):
        (root / folder).mkdir()
    for number in range(int(96 * share)):
        image = np.asarray(scene(rng, 512, 512).convert("L"), np.float32) / 255
        label = rng.integers(0, 9, (16, 16)).repeat(32, 0).repeat(32, 1).astype(np.uint8)
        np.savez(root / "slices" / f"case{number:04}.npz", image=image, label=label)
        bands = rng.integers(0, 10_000, (13, 120, 120)).astype(np.uint16)
        np.save(root / "tiles" / f"S2_{number:04}.npy", bands)
    np.save(
        root / "clips.npy", rng.integers(0, 256, (int(24 * share), 32, 112, 112, 3), dtype=np.uint8)
    )
    try:
        import h5py
    except ImportError:
        return
    with h5py.File(root / "volumes.h5", "w") as file:
        for number in range(int(12 * share)):
            volume = rng.normal(size=(64, 128, 128)).astype(np.float32)
            file.create_dataset(f"case{number}/image", data=volume, chunks=(8, 64, 64))
            file.create_dataset(
                f"case{number}/label", data=(volume > 1).astype(np.uint8), chunks=(8, 64, 64)
            )


def make_words(root: pathlib.Path, rng: np.random.Generator, share: float) -> None:
    """Pictures of words, with a list of what they say, and the same as LMDB."""
    folder = root / "words"
    folder.mkdir()
    labels = []
    for number in range(int(320 * share)):
        word = made_sequences.word(rng)
        picture = scene(rng, 24 + 14 * len(word), 48)
        ImageDraw.Draw(picture).text((8, 12), word, fill="white", font_size=24)
        picture.save(folder / f"word_{number}.jpg", quality=88, optimize=True)
        labels.append(word)
    (root / "words.txt").write_text("".join(f"word_{n}.jpg {w}\n" for n, w in enumerate(labels)))
    try:
        import lmdb
    except ImportError:
        return
    with (
        lmdb.open(str(root / "words_lmdb"), map_size=1 << 28) as env,
        env.begin(write=True) as writer,
    ):
        writer.put(b"num-samples", str(len(labels)).encode())
        for number, word in enumerate(labels):
            writer.put(b"image-%09d" % (number + 1), (folder / f"word_{number}.jpg").read_bytes())
            writer.put(b"label-%09d" % (number + 1), word.encode())


def recipe() -> str:
    """What the data depend on."""
    here = pathlib.Path(__file__).parent
    text = b"".join((here / name).read_bytes() for name in ("made_data.py", "made_sequences.py"))
    return hashlib.sha256(text + Image.__version__.encode() + np.__version__.encode()).hexdigest()


def make(root: pathlib.Path, seed: int = 0, share: float = 1) -> pathlib.Path:
    """`root`, with the data in it; nothing is done where they are there already."""
    stamp = root / "recipe"
    if stamp.is_file() and stamp.read_text() == f"{recipe()} {seed} {share}":
        return root
    print(f"making the data in {root} (a minute)", flush=True)
    work = root.with_name(root.name + ".new")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    rng = np.random.default_rng(seed)
    make_annotations(work, make_photos(work, rng, share))
    for part in (make_folders, make_stereo, make_scans, make_words):
        part(work, rng, share)
    made_sequences.make(work, rng, share)
    (work / "recipe").write_text(f"{recipe()} {seed} {share}")
    shutil.rmtree(root, ignore_errors=True)
    return work.rename(root)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--share", type=float, default=1, help="of the files")
    given = parser.parse_args()
    make(given.out, given.seed, given.share)
