"""Sound, clouds of points, text, tokens, tables and ratings for the programs of bench/real."""

import json
import pathlib

import numpy as np
from scipy.io import wavfile

SYLLABLES = "ka lo mi ta ren shu vo pel dra gi nos tem bu fa qui zor".split()


def word(rng: np.random.Generator) -> str:
    return "".join(rng.choice(SYLLABLES, int(rng.integers(1, 4))))


def sentence(rng: np.random.Generator, least: int, most: int) -> str:
    return " ".join(word(rng) for _ in range(int(rng.integers(least, most))))


def voice(rng: np.random.Generator, seconds: float, rate: int) -> np.ndarray:
    """int16: a tone that glides, with overtones and breath, in syllables."""
    time = np.arange(int(seconds * rate)) / rate
    pitch = (
        110 * 2 ** rng.uniform(0, 1.2) * (1 + 0.1 * np.sin(2 * np.pi * rng.uniform(0.3, 2) * time))
    )
    phase = 2 * np.pi * np.cumsum(pitch) / rate
    tone = sum(np.sin(k * phase) / k for k in range(1, 6))
    syllables = np.clip(np.sin(2 * np.pi * rng.uniform(2, 4) * time) + 0.4, 0, 1)
    sound = tone * syllables + 0.05 * rng.standard_normal(time.size)
    return np.int16(np.clip(sound / 4, -1, 1) * 30_000)


def make_sound(root: pathlib.Path, rng: np.random.Generator, share: float) -> None:
    for folder in ("speech", "noise", "rooms"):
        (root / folder).mkdir()
    lines = []
    for number in range(int(120 * share)):
        speaker = number % 12
        path = root / "speech" / f"spk{speaker:02}_{number:04}.wav"
        wavfile.write(path, 22_050, voice(rng, rng.uniform(1.5, 4.0), 22_050))
        lines.append(f"{path.name}|{sentence(rng, 4, 12)}|{speaker}")
    (root / "speech.txt").write_text("\n".join(lines) + "\n")
    for number in range(12):
        noise = np.cumsum(rng.standard_normal(22_050 * 6))
        noise = np.int16(20_000 * (noise - noise.mean()) / np.abs(noise).max() / 2)
        wavfile.write(root / "noise" / f"noise{number:02}.wav", 22_050, noise)
        room = rng.standard_normal(4000) * np.exp(-np.arange(4000) / 700)
        np.save(root / "rooms" / f"room{number:02}.npy", room.astype(np.float32))


def make_clouds(root: pathlib.Path, rng: np.random.Generator, share: float) -> None:
    for folder in ("shapes", "parts", "lidar"):
        (root / folder).mkdir()
    for number in range(int(64 * share)):
        direction = rng.standard_normal((4000, 3))
        direction /= np.linalg.norm(direction, axis=1, keepdims=True)
        points = direction * rng.uniform(0.4, 1, 3)
        rows = np.hstack([points, direction]).round(6)
        np.savetxt(root / "shapes" / f"shape_{number:04}.txt", rows, "%.6f", ",")
        part = (points[:, :1] > 0).astype(np.float32)
        np.save(
            root / "parts" / f"part_{number:04}.npy", np.hstack([rows, part]).astype(np.float32)
        )
        sweep = rng.normal(0, (20, 20, 1, 0.2), (60_000, 4)).astype(np.float32)
        sweep.tofile(root / "lidar" / f"{number:06}.bin")


def make_text(root: pathlib.Path, rng: np.random.Generator, share: float) -> None:
    tokens = rng.zipf(1.3, int(4_000_000 * share)) % 50_257
    tokens.astype(np.uint16).tofile(root / "train.bin")
    with (root / "articles.jsonl").open("w") as file:
        for number in range(int(2000 * share)):
            text = ". ".join(
                sentence(rng, 5, 20).capitalize() for _ in range(int(rng.integers(3, 12)))
            )
            title = sentence(rng, 2, 6)
            file.write(
                json.dumps({"id": number, "title": title, "text": text + ".", "label": number % 4})
                + "\n"
            )
    pairs = [f"{sentence(rng, 4, 24)}\t{sentence(rng, 4, 24)}" for _ in range(int(3000 * share))]
    (root / "pairs.tsv").write_text("\n".join(pairs) + "\n")


def make_tables(root: pathlib.Path, rng: np.random.Generator, share: float) -> None:
    rows = ["date,city,kind,price,load,wind,target"]
    load = 50 + np.cumsum(rng.standard_normal(int(12_000 * share)))
    for hour in range(int(12_000 * share)):
        date = np.datetime64("2020-01-01T00:00") + np.timedelta64(hour, "h")
        city, kind = SYLLABLES[rng.integers(16)], "abcd"[rng.integers(4)]
        price, wind = rng.gamma(2, 20), rng.weibull(2) * 8
        rows.append(
            f"{date},{city},{kind},{price:.3f},{load[hour]:.4f},{wind:.3f},{int(price > 40)}"
        )
    (root / "hours.csv").write_text("\n".join(rows) + "\n")
    users, items = (
        rng.integers(0, 900, int(20_000 * share)),
        rng.zipf(1.4, int(20_000 * share)) % 1500,
    )
    np.savetxt(root / "ratings.txt", np.stack([users, items], 1), "%d")


def make(root: pathlib.Path, rng: np.random.Generator, share: float) -> None:
    for part in (make_sound, make_clouds, make_text, make_tables):
        part(root, rng, share)
