"""Pictures with masks: the plan that becomes of a program, and what of it is refused."""

import ast
import operator

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as TF
from headrace.capture.computed import Computed, computed_of
from headrace.capture.datasets import rows_of
from headrace.capture.fingerprint import Fingerprint
from headrace.capture.items import items_of
from headrace.capture.views.chances import compared
from headrace.capture.views.numbers import TORCH, Uniform
from headrace.native.alterations import BATCHES
from headrace.native.settings import first_setting
from headrace.native.structure import fields_in
from PIL import Image
from support import segmentation
from support.made_by_torchvision import values_of
from support.segmentation import Joint, Pairs, fixed, nearest, write_pairs
from torchvision import datasets, tv_tensors
from torchvision import transforms as v1
from torchvision.transforms import v2


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs"), 6)


def plan_of(data) -> Computed:
    return computed_of(rows_of(data, Fingerprint()))


def ops(made: Computed) -> list[str]:
    return [node.op for node in made.nodes]


def draws_of(made: Computed) -> dict[int, int]:
    return {
        number: node.args["draws_of"]
        for number, node in enumerate(made.nodes)
        if "draws_of" in node.args
    }


@pytest.mark.parametrize("name", segmentation.NATIVE)
def test_files_are_those_of_the_code(pairs, name, monkeypatch):
    data = segmentation.NATIVE[name](pairs)
    items = items_of(data)
    opened = []
    real = Image.open
    with monkeypatch.context() as patch:
        patch.setattr(Image, "open", lambda path: opened.append(path) or real(path))
        for index in range(len(data)):
            opened.clear()
            data[index]
            assert [paths[index] for paths in items.paths] == opened
    assert items.seen.same() and items.lists.same()
    made = plan_of(data)
    files = [node.args.get("file", 0) for node in made.nodes if node.op == "decode"]
    assert files == list(range(len(items.paths)))
    inputs = [node.inputs for node in made.nodes if node.op == "decode"]
    assert inputs == [[], *[[-1]] * (len(files) - 1)]


@pytest.mark.parametrize("name", segmentation.NATIVE)
def test_the_nodes_say_what_the_code_does(pairs, name):
    """Run by torchvision's functions, in the order of the plan, they draw and make the same."""
    data = segmentation.NATIVE[name](pairs)
    items, made = items_of(data), plan_of(data)
    for seed in range(12):
        index = seed % len(data)
        torch.manual_seed(seed)
        expected = fields_in(made.structure, data[index])
        state = torch.get_rng_state()
        torch.manual_seed(seed)
        values = values_of(made.nodes, [paths[index] for paths in items.paths])
        assert torch.equal(torch.get_rng_state(), state), seed
        for field, own in zip(made.fields, expected, strict=True):
            if field.kind == "value":
                theirs = values[field.index]
                assert theirs.dtype == own.dtype and torch.equal(theirs, own), seed


def test_the_leaf_holds_the_files_of_each_row(pairs):
    rows = rows_of(segmentation.NATIVE["several"](pairs), Fingerprint())
    (leaf,) = rows.leaves
    assert (leaf.source, leaf.rows, leaf.args) == ("file_groups", 6, {"files": 3})
    assert rows.path_of(4).endswith("images/004.jpg")
    one = rows_of(segmentation.OfNumPy(pairs, fixed(), nearest()), Fingerprint())
    assert one.leaves[0].args == {"files": 2}


def test_a_single_picture_keeps_its_source(pairs):
    class AsItIs(Pairs):
        def __getitem__(self, idx):
            return self.transform(Image.open(self.masks[idx]))

    data = AsItIs(pairs, nearest(v1.PILToTensor()))
    rows = rows_of(data, Fingerprint())
    assert (rows.leaves[0].source, rows.leaves[0].args) == ("local_dir", {})
    assert plan_of(data).nodes[0].args == {"mode": "index"}


def test_masks_of_v2_have_their_own_arguments(pairs):
    made = plan_of(Joint(pairs, segmentation.padded()))
    crop, mask = (node for node in made.nodes if node.op == "random_crop")
    assert (crop.args["fill"], mask.args["fill"]) == ([9.0, 8.0, 7.0], 255.0)
    assert mask.args["draws_of"] == made.nodes.index(crop)
    # ColorJitter and RandomGrayscale are of the image alone, and so is their gate.
    gates = [number for number, op in enumerate(ops(made)) if op == "random_apply"]
    assert len(gates) == 3
    of_image, of_mask = gates[1:]
    assert made.nodes[of_mask].args["draws_of"] == of_image
    assert ops(made)[of_image + 1 : of_image + 3] == ["random_horizontal_flip", "gaussian_blur"]
    assert ops(made)[of_mask + 1 : of_mask + 3] == ["random_horizontal_flip", "identity"]
    assert draws_of(made)[of_mask + 1] == of_image + 1
    types = [node.args["dtype"] for node in made.nodes if node.op == "to_dtype"]
    assert types == ["float32", "int64"]


def test_masks_are_resampled_to_the_nearest_pixels(pairs):
    made = plan_of(Joint(pairs, segmentation.crops()))
    image, mask = (node for node in made.nodes if node.op == "random_resized_crop")
    assert (image.args["interpolation"], mask.args["interpolation"]) == ("bilinear", "nearest")


def test_transforms_of_the_image_alone_leave_no_node_for_the_mask(pairs):
    alone = [
        v2.ColorJitter(0.2), v2.RandomGrayscale(), v2.GaussianBlur(3), v2.RandomInvert(),
        v2.RandomPosterize(4), v2.RandomSolarize(9.0), v2.RandomAdjustSharpness(2.0),
        v2.RandomAutocontrast(), v2.RandomEqualize(), v2.ToDtype(torch.float32, scale=True),
        v2.Normalize([0.5], [0.5]),
    ]  # fmt: skip
    made = plan_of(Joint(pairs, v2.Compose([v2.ToImage(), *alone])))
    assert len(made.nodes) == 4 + len(alone)
    assert not draws_of(made)


def test_the_words_of_a_draw_are_the_images_where_the_mask_comes_first(pairs):
    class MaskFirst(Joint):
        def __getitem__(self, idx):
            mask = tv_tensors.Mask(Image.open(self.masks[idx]))
            image = tv_tensors.Image(Image.open(self.images[idx]).convert("RGB"))
            mask, image = self.transforms(mask, image)
            return image, mask

    made = plan_of(MaskFirst(pairs, v2.RandomResizedCrop(8)))
    ((of_mask, of_image),) = draws_of(made).items()
    assert made.nodes[of_mask].args["interpolation"] == "nearest"
    assert made.nodes[of_image].args["interpolation"] == "bilinear"


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize("name", ["voc", "pets", "cities"])
def test_data_sets_of_torchvision(tmp_path, name, wrapped):
    joint = segmentation.crops() if wrapped else segmentation.of_pil()
    if name == "voc":
        segmentation.write_voc(tmp_path, 3)
        data = datasets.VOCSegmentation(tmp_path, "2011", "train", transforms=joint)
    elif name == "pets":
        segmentation.write_pets(tmp_path, 3)
        data = datasets.OxfordIIITPet(tmp_path, target_types="segmentation", transforms=joint)
    else:
        segmentation.write_cities(tmp_path, 3)
        data = datasets.Cityscapes(str(tmp_path), target_type="semantic", transforms=joint)
    made = plan_of(datasets.wrap_dataset_for_transforms_v2(data) if wrapped else data)
    assert ops(made).count("decode") == 2
    assert len(draws_of(made)) == (3 if wrapped else 2)


def test_a_list_in_a_list_that_changes_is_seen(tmp_path):
    segmentation.write_cities(tmp_path, 3)
    data = datasets.Cityscapes(
        str(tmp_path), target_type="semantic", transforms=segmentation.of_pil()
    )
    items = items_of(data)
    assert items.lists.same() and items.lists.same_at([0, 1])
    data.targets[1][0] = data.targets[0][0]
    assert not items.lists.same() and not items.lists.same_at([1]) and items.lists.same_at([0])


def test_a_function_of_torchvision_that_was_replaced_is_followed_as_it_is(pairs, monkeypatch):
    monkeypatch.setattr(TF, "hflip", lambda image: TF.vflip(image))
    made = plan_of(segmentation.Functional(pairs))
    axes = [node.args["axis"] for node in made.nodes if node.op == "flip"]
    assert axes == ["vertical"] * 4


_ORDER = {ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge"}


def test_numbers_that_python_compares_are_rounded_for_a_gate():
    rng = np.random.default_rng(5)
    grid = rng.integers(0, 1 << 24, 500) / np.float64(1 << 24)
    for p in [*rng.random(200), *grid[:100], 0.1, 0.3, 0.5, 0.7, 1.0, 0.0]:
        near = np.float32(p)
        drawn = np.unique([*grid.astype(np.float32), near, np.nextafter(near, np.float32(2))])
        for op, when in _ORDER.items():
            args = compared(op(), Uniform(1, TORCH, as_float=True), float(p)).args
            assert args.get("when", ("le", "lt")[args["api"] - 1]) == when
            runs = getattr(operator, when)(drawn, np.float32(args["p"]))
            assert (runs == getattr(operator, when)(drawn.astype(np.float64), p)).all(), p


def test_batches_that_are_tv_tensors_stay_python():
    assert first_setting((BATCHES,)) == ""
    with tv_tensors.set_return_type("TVTensor"):
        assert "set_return_type" in first_setting((BATCHES,))
