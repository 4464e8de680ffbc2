"""Found functions end to end: programs of which nothing is declared, by `headrace run`."""

import json
import subprocess
import sys

from support.headrace_program import HEADRACE, clean_environment

PROGRAM = """
import hashlib, json, random, sys
import cv2, numpy as np, torch
from torch.utils.data import DataLoader, Dataset

cv2.setNumThreads(1)
torch.set_num_threads(1)


def letterbox(im, shape=(300, 300), color=(114, 114, 114)):
    r = min(shape[0] / im.shape[0], shape[1] / im.shape[1])
    im = cv2.resize(im, (int(im.shape[1] * r), int(im.shape[0] * r)), interpolation=cv2.INTER_CUBIC)
    for _ in range(30):
        im = cv2.GaussianBlur(im, (9, 9), 1.5)
    top = (shape[0] - im.shape[0]) // 2
    return cv2.copyMakeBorder(im, top, shape[0] - im.shape[0] - top, 0, 0, cv2.BORDER_CONSTANT, value=color), r


class Data(Dataset):
    def __init__(self):
        self.window, self.side = torch.hann_window(512), 64
        self.texts = [" ".join(str((n + 1) * k / 7) for k in range(15000)) for n in range(24)]
        rng = np.random.default_rng(1)
        self.sounds = [rng.normal(size=200000).astype(np.float32) for _ in range(24)]
        self.pictures = [rng.integers(0, 255, (400, 300, 3), dtype=np.uint8) for _ in range(24)]

    def __len__(self):
        return 24

    def spectrogram(self, i):
        sound = torch.from_numpy(self.sounds[i].copy())
        return torch.stft(sound, 512, 64, window=self.window, return_complex=True).abs().log1p()[:, :200].clone()

    def boxed(self, i):
        return letterbox(self.pictures[i])

    def parse(self, i):
        return np.array([float(word) for word in self.texts[i].split()], np.float32)

    def resized(self, i):
        picture = cv2.resize(self.pictures[i], (1500, 1500), interpolation=cv2.INTER_LANCZOS4)
        return cv2.resize(picture, (self.side, self.side), interpolation=cv2.INTER_AREA)

    def __getitem__(self, i):
        parts = self.spectrogram(i), self.boxed(i)[0], self.parse(i), self.resized(i)
        return [torch.as_tensor(one).float() * random.random() for one in parts]


def main():
    epochs = int(sys.argv[1])
    torch.manual_seed(3)
    random.seed(3)
    loader = DataLoader(Data(), 4, shuffle=True, num_workers=1)
    made = []
    for _ in range(epochs):
        for batch in loader:
            made.append(hashlib.sha1(b''.join(one.numpy().tobytes() for one in batch)).hexdigest())
        made.append(hashlib.sha1(torch.get_rng_state().numpy().tobytes()).hexdigest())
    print(json.dumps(made))


if __name__ == "__main__":
    main()
"""


def run(tmp_path, *options, epochs=8):
    """What the program prints; the report, where it ran with `options`."""
    program, report = tmp_path / "program.py", tmp_path / "report.json"
    program.write_text(PROGRAM)
    command = [sys.executable, str(program), str(epochs)]
    if options:
        command = [HEADRACE, "run", "--report", str(report), "--cache", "1G", *options, *command]
    environment = clean_environment(XDG_CACHE_HOME=str(tmp_path))
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr[-2000:]
    told = json.loads(report.read_text())["cached_functions"] if options else []
    assert "no longer kept" not in done.stderr
    return json.loads(done.stdout.splitlines()[-1]), {one["name"]: one for one in told}


def test_a_program_that_declares_nothing_has_its_beginning_kept(tmp_path):
    stock, _ = run(tmp_path)
    served, told = run(tmp_path, "--workers", "1")
    assert served == stock
    for name in ("spectrogram", "boxed", "parse", "resized"):
        function = told[f"Data.{name}"]
        assert function["found"] and function["cached"] and function["hits"] > 0, json.dumps(told)
        assert function["why_not"] == "" and function["compared"] > 0, function
    assert told["Data.__getitem__"]["why_not"] == "it draws random numbers"
    assert told["letterbox"]["hits"] == 0, "the function that calls it is kept"


def test_it_can_be_switched_off(tmp_path):
    stock, _ = run(tmp_path, epochs=2)
    served, told = run(tmp_path, "--no-found-functions", epochs=2)
    assert served == stock and told == {}
