"""Lanes that meet few pictures that nobody has decoded defer the kept ones alone, and have no sleeping fork
(stage/fresh_pictures.py, picture_files.py)."""

import json
import random

import pytest
from headrace.stage.fresh_pictures import LEAST, FreshPictures
from support.photos import encode_photo, without_tables
from support.programs import run_program

SEED = 20261201

# Says of each sample whether its lane may begin again, and of each file whether PIL refused it where it converts. Code
# that meets the error later would say so.
PROGRAM = """
import glob, json, sys
import numpy as np, torch
from PIL import Image
from torch.utils.data import DataLoader, Dataset

folder, epochs, served = sys.argv[1], int(sys.argv[2]), sys.argv[3] == "served"
if served:
    import headrace
    headrace.install()

class Pictures(Dataset):
    def __init__(self):
        self.files = sorted(glob.glob(folder + "/*.jpg"))
    def __len__(self):
        return len(self.files)
    def __getitem__(self, index):
        images = sys.modules.get("headrace.stage.images")
        begins_again = bool(images and images._current and images._current.decodes)
        try:
            picture = Image.open(self.files[index]).convert("RGB")
        except OSError as error:
            return -1, begins_again, str(error)[:20]
        return int(np.asarray(picture.crop((2, 3, 30, 31)), np.int64).sum()), begins_again, ""

def main():
    loader = DataLoader(Pictures(), batch_size=3, num_workers=2, collate_fn=list)
    made = []
    for epoch in range(epochs):
        made.append([sample for batch in loader for sample in batch])
        if epoch == epochs - 3:  # the next epochs meet what nobody has decoded
            with open(folder + "/damaged", "rb") as damaged, open(loader.dataset.files[1], "wb") as file:
                file.write(damaged.read())
    print(json.dumps(made))

if __name__ == "__main__":
    main()
"""


def run(folder, count, least, epochs, way):
    rng = random.Random(SEED)
    for number in range(count):
        sides = rng.randint(least, least + 30), rng.randint(least, least + 30)
        file = encode_photo(*sides, number)
        (folder / f"{number:03}.jpg").write_bytes(file)
    (folder / "damaged").write_bytes(without_tables(encode_photo(70, 70, 999)))
    done = run_program(PROGRAM, str(folder), str(epochs), way, env={"HEADRACE_CACHE": "256M"})
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    samples = [[(total, error) for total, _, error in epoch] for epoch in made]
    return samples, [{begins for _, begins, _ in epoch} for epoch in made]


# Pictures, their least side, and whether lanes of later epochs meet many that nobody has decoded: small ones are not kept.
@pytest.mark.parametrize(
    "count, least, many", [(6, 60, False), (2 * LEAST + 12, 60, True), (2 * LEAST + 12, 380, False)]
)
def test_few_that_nobody_has_decoded_are_pils(tmp_path, count, least, many):
    """Where a file turns out to be damaged, the error comes where PIL raises it."""
    stock, _ = run(tmp_path, count, least, 7, "stock")
    mine, begin_again = run(tmp_path, count, least, 7, "served")
    assert mine == stock
    assert [bool(error) for _, error in stock[-1]].count(True) == 1
    assert begin_again[0] == {True}  # nobody knows
    assert begin_again[-1] == {many}


def test_a_lane_that_meets_many_says_so():
    fresh = FreshPictures()
    assert not fresh.are_many()
    fresh.note(0, LEAST - 1)
    fresh.note(65, 3)  # the place of lane 1
    assert not fresh.are_many()
    fresh.note(0, 1)
    fresh.note(7, LEAST)
    assert fresh.are_many()
    assert not fresh.are_many()  # since then nobody has met one
