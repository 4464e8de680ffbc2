"""`headrace explain` of transforms that are the program's own code."""

import json

from support.headrace_program import inspected
from support.photos import write_jpegs

TRANSFORMS = """
import random
from torchvision import transforms as t

class Blur:
    def __call__(self, image):
        return image if random.triangular() < 0.5 else image.rotate(90)

class Recipe:
    def __init__(self, *steps):
        self.steps, self.end = steps, t.ToTensor()
    def __call__(self, image):
        for step in self.steps:
            image = step(image)
        return self.end(image)
"""

PROGRAM = """
import sys
from torch.utils.data import DataLoader
from torchvision import datasets, transforms as t
sys.path.insert(0, sys.argv[2])
from own_transforms import Blur, Recipe

plain = DataLoader(datasets.ImageFolder(sys.argv[1], Recipe(t.CenterCrop(8))), 4, num_workers=1)
drawn = DataLoader(datasets.ImageFolder(sys.argv[1], Recipe(Blur())), 4, num_workers=1)
iter(plain)
"""


def test_the_line_that_is_not_followed_is_named(tmp_path):
    photos = write_jpegs(tmp_path / "photos", classes=2, count=5)
    (tmp_path / "own_transforms.py").write_text(TRANSFORMS)
    done = inspected("explain", "--json", program=PROGRAM, arguments=(photos, tmp_path))
    assert done.returncode == 0, done.stderr
    plain, drawn = json.loads(done.stdout)["loaders"]
    steps = [node["label"] for node in plain["nodes"] if node["kind"] == "operator"]
    assert plain["path"] == "native" and steps[1:] == ["CenterCrop(size=(8, 8))", "ToTensor()"]
    (step,) = [node for node in drawn["nodes"] if node["kind"] == "transform"]
    line = "Blur.__call__ (own_transforms.py:7) calls random.Random.triangular"
    reason = f"own_transforms.Recipe has no native form: {line}, which is not followed"
    assert step["reason"] == reason
    assert step["remedy"] == "a transform of torchvision's in its place"
