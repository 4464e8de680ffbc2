"""Pictures with masks: programs that do more than is followed."""

import numpy as np
import pytest
import torch
import torchvision.transforms.functional as TF
from headrace.capture.computed import Computed, computed_of
from headrace.capture.datasets import rows_of
from headrace.capture.fingerprint import Fingerprint
from headrace.native.plan import NotNative
from PIL import Image
from support import segmentation
from support.segmentation import Joint, Pairs, write_pairs
from torchvision import transforms as v1
from torchvision import tv_tensors
from torchvision.transforms import v2
from torchvision.transforms.v2 import functional as F2


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("pairs"), 6)


def plan_of(data) -> Computed:
    return computed_of(rows_of(data, Fingerprint()))


class Both(Pairs):
    def load(self, idx):
        return Image.open(self.images[idx]).convert("RGB"), Image.open(self.masks[idx])

    def __getitem__(self, idx):
        image, mask = self.load(idx)
        image, mask = self.both(image, mask)
        return TF.to_tensor(image), TF.pil_to_tensor(mask)


class Otherwise(Both):
    def both(self, image, mask):
        if torch.rand(1) < 0.5:
            image = TF.hflip(image)
        else:
            mask = TF.hflip(mask)
        return image, mask


class Leaves(Both):
    def both(self, image, mask):
        if torch.rand(1) < 0.5:
            return TF.hflip(image), TF.hflip(mask)
        return image, mask


class DrawsInside(Both):
    def both(self, image, mask):
        if torch.rand(1) < 0.5:
            image = v1.RandomHorizontalFlip()(image)
        return image, mask


FLIP = v1.RandomHorizontalFlip()


class AppliesWhatDraws(Both):
    def both(self, image, mask):
        if torch.rand(1) < 0.5:
            image = FLIP(image)
        return image, mask


class Counts(Both):
    def both(self, image, mask):
        flips = 0
        if torch.rand(1) < 0.5:
            image, flips = TF.hflip(image), 1
        return image, mask if flips else mask


class Collects(Both):
    def both(self, image, mask):
        made = []
        if torch.rand(1) < 0.5:
            made.append(TF.hflip(image))
        return image, mask


class Swaps(Both):
    def both(self, image, mask):
        if torch.rand(1) < 0.5:
            image = mask
        return image, mask


class DrawsForNothing(Both):
    def both(self, image, mask):
        torch.rand(1)
        return image, mask


class DrawsBetween(Both):
    def both(self, image, mask):
        drawn = torch.rand(1)
        image = FLIP(image)
        if drawn < 0.5:
            mask = TF.hflip(mask)
        return image, mask


class CropsNothing(Both):
    def both(self, image, mask):
        v1.RandomCrop.get_params(image, (8, 8))
        return image, mask


class CropsAnother(Both):
    def both(self, image, mask):
        i, j, h, w = v1.RandomCrop.get_params(image, (8, 8))
        return image, TF.crop(mask, i, j, h, w)


class CropsElsewhere(Both):
    def both(self, image, mask):
        i, j, h, w = v1.RandomCrop.get_params(image, (8, 8))
        return TF.crop(image, j, i, h, w), TF.crop(mask, j, i, h, w)


class ComputesAPlace(Both):
    def both(self, image, mask):
        i, j, h, w = v1.RandomCrop.get_params(image, (8, 8))
        return TF.crop(image, i + 1, j, h, w), mask


class NotUsed(Both):
    def both(self, image, mask):
        return image, TF.hflip(image)


class Asks(Both):
    def both(self, image, mask):
        return image.resize(mask.size), mask


class Bilinear(Both):
    def both(self, image, mask):
        return image, TF.resize(mask, (8, 8))


class Colors(Both):
    def both(self, image, mask):
        return image, v1.ColorJitter(0.1)(mask)


class ShorterSide(Both):
    """resize takes one number as the length of the shorter side, and RandomResizedCrop does not."""

    def both(self, image, mask):
        place = v1.RandomResizedCrop.get_params(image, (0.5, 1.0), (0.75, 1.3))
        return TF.resized_crop(image, *place, 24), TF.resized_crop(mask, *place, 24, NEAREST)


class FlipsAnArray(Both):
    def both(self, image, mask):
        return image, TF.hflip(np.array(mask))


class MaskOfAColourArray(Both):
    """It has three channels, as the last dimension."""

    def both(self, image, mask):
        return image, tv_tensors.Mask(np.array(mask.convert("RGB")))


class ArrayBesideAMask(Both):
    """v2 hands arrays on, but for ToImage."""

    def both(self, image, mask):
        return PAIR(np.array(image), tv_tensors.Mask(mask))


class CastOfAPicture(Both):
    def both(self, image, mask):
        return F2.to_dtype(image, torch.float32), mask


class NormalizedMask(Both):
    def both(self, image, mask):
        return image, F2.normalize(tv_tensors.Mask(mask), [0.5], [0.5])


class ImageOfAMask(Both):
    def both(self, image, mask):
        return image, F2.to_image(tv_tensors.Mask(mask))


class ChannelsLast(Both):
    def both(self, image, mask):
        last = torch.from_numpy(np.array(image)).permute(2, 0, 1)
        return COLORS(TF.hflip(last)), mask


PAIR = v2.Compose([v2.RandomHorizontalFlip(1.0), v2.ToImage()])
COLORS = v1.ColorJitter(contrast=0.2)
NEAREST = v1.InterpolationMode.NEAREST


class OfPalettes(Both):
    def load(self, idx):
        return super().load(idx)

    def both(self, image, mask):
        return image, mask


class AsPalette(Both):
    def load(self, idx):
        return (
            Image.open(self.images[idx]).convert("RGB"),
            Image.open(self.masks[idx]).convert("P"),
        )

    def both(self, image, mask):
        return image, mask


REFUSED = {
    Otherwise: "an else where",
    Leaves: "leaves the block",
    DrawsInside: "RandomHorizontalFlip",
    AppliesWhatDraws: "draws where what was drawn decides",
    Counts: "sets flips",
    Collects: "changes a container|computes more",
    Swaps: "sets image",
    DrawsForNothing: "draws a number and does not use it",
    DrawsBetween: "draws more between",
    CropsNothing: "does not crop there",
    CropsAnother: "does not crop there",
    CropsElsewhere: "did not draw",
    ComputesAPlace: "computes with",
    NotUsed: "opens a file that it does not use|opens a picture that it does not use",
    Asks: "uses .resize",
    Bilinear: "may have a palette",
    Colors: "ColorJitter",
    ShorterSide: "other than a height and a width",
    FlipsAnArray: "no picture of PIL's",
    MaskOfAColourArray: "whose type is not known",
    ArrayBesideAMask: "types are not known",
    CastOfAPicture: "to_dtype with a PIL image",
    NormalizedMask: "normalize with tv_tensors.Mask",
    ImageOfAMask: "to_image with tv_tensors.Mask",
    ChannelsLast: "channels last",
    OfPalettes: "super",
    AsPalette: "other than pictures in RGB",
}


@pytest.mark.parametrize("cls", REFUSED)
def test_more_than_that_is_refused(pairs, cls):
    before = torch.get_rng_state()
    with pytest.raises(NotNative, match=REFUSED[cls]) as refused:
        plan_of(cls(pairs))
    assert refused.value.remedy
    assert torch.equal(torch.get_rng_state(), before)


JOINT = {
    "may have a palette": [v2.ColorJitter(0.1)],
    "resamples a picture that may have a palette": [v2.Resize(8)],
    "PIL image, which it refuses": [v2.Normalize([0.5], [0.5])],
    "no native form of several pictures": [v2.RandomErasing()],
    "different channels|may have a palette": [v2.RandomGrayscale()],
    "not always applied": [v2.RandomApply([v2.ToImage()])],
    "is given several pictures": [v2.RandomApply([v1.CenterCrop(8)])],
    "with other than one picture": [v1.CenterCrop(8)],
}


@pytest.mark.parametrize("text", JOINT)
def test_what_v2_does_otherwise_with_two_pictures_is_refused(pairs, text):
    transforms = v2.Compose([*JOINT[text], v2.ToImage()])
    with pytest.raises(NotNative, match=text):
        plan_of(segmentation.JointPictures(pairs, transforms))


MASKS = {
    "no native form of masks": [v2.RandomErasing()],
    "no native form of several pictures|no native form of masks": [v2.RandAugment()],
    "several fills for a mask": [v2.Pad(2, fill=(1, 2, 3))],
    "takes? differently": [v2.Resize((8, 8), v2.InterpolationMode.NEAREST_EXACT)],
    "no entry for": [v2.ToDtype({tv_tensors.Image: torch.float32})],
    "warns that it does not scale": [
        v2.ToDtype({tv_tensors.Mask: torch.int64, "others": None}, scale=True)
    ],
}


@pytest.mark.parametrize("text", MASKS)
def test_what_is_no_transform_of_masks_is_refused(pairs, text):
    with pytest.raises(NotNative, match=text):
        plan_of(Joint(pairs, v2.Compose([v2.ToImage(), *MASKS[text]])))


class MaskAlone(Joint):
    def __getitem__(self, idx):
        mask = tv_tensors.Mask(Image.open(self.masks[idx]))
        return TO_TENSOR(Image.open(self.images[idx]).convert("RGB")), self.transforms(mask)


TO_TENSOR = v1.ToTensor()


@pytest.mark.parametrize("transform", [v2.ColorJitter(0.1), v2.RandomInvert(), v2.GaussianBlur(3)])
def test_what_draws_for_a_mask_alone_is_refused(pairs, transform):
    """It hands the mask on, and draws all the same."""
    with pytest.raises(NotNative, match="for which it draws"):
        plan_of(MaskAlone(pairs, transform))
    plan_of(MaskAlone(pairs, v2.Normalize([0.5], [0.5])))


@pytest.mark.parametrize(
    "gate",
    [
        v2.RandomApply([v2.ToDtype(torch.float32, scale=True)], p=0.3),
        v2.RandomOrder([v2.ToDtype(torch.float32, scale=True), v2.Normalize([0.5], [0.5])]),
    ],
)
def test_a_gate_that_draws_for_nothing_is_refused(pairs, gate):
    with pytest.raises(NotNative, match="does nothing to what it is given, but draws"):
        plan_of(MaskAlone(pairs, gate))


class CastMask(Joint):
    """The function casts, where the class hands masks on."""

    def __getitem__(self, idx):
        mask = tv_tensors.Mask(Image.open(self.masks[idx]))
        image = TO_TENSOR(Image.open(self.images[idx]).convert("RGB"))
        return image, F2.to_dtype(mask, torch.int64)


def test_a_mask_is_cast_by_the_function(pairs):
    made = plan_of(CastMask(pairs, None))
    (cast,) = (node for node in made.nodes if node.op == "to_dtype")
    assert cast.args["dtype"] == "int64" and not cast.args["scale"]


class OfAMask(Joint):
    """v1's functions of a tv_tensors.Mask, which make plain tensors of it."""

    def __getitem__(self, idx):
        mask = tv_tensors.Mask(Image.open(self.masks[idx]))
        return TO_TENSOR(Image.open(self.images[idx]).convert("RGB")), TF.hflip(mask)


def test_v1_of_tv_tensors_is_refused(pairs):
    with pytest.raises(NotNative, match="of v1 with tv_tensors.Mask"):
        plan_of(OfAMask(pairs, None))
