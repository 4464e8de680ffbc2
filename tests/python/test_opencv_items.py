"""What of a data set's code on OpenCV's arrays is refused, and why. None of it is run."""

from pathlib import Path

import numpy as np
import pytest
import torch
from headrace.capture.items import items_of
from headrace.native.plan import NotNative
from torchvision import transforms as v1
from torchvision.transforms import v2

cv2 = pytest.importorskip("cv2", reason="./dev test installs OpenCV")

from support.cv2_datasets import Photos  # noqa: E402 -- after the import that may skip

ERASE = v2.RandomErasing(p=1, inplace=True)
TO_IMAGE, TO_LUMINANCE, RESIZE = v2.ToImage(), v1.ToPILImage("L"), v1.Resize(16)


def grey_twice(image):
    image = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY)
    return ERASE(TO_IMAGE(image)), TO_IMAGE(image)


def tensor(image):
    return torch.from_numpy(image).permute(2, 0, 1)


CASES = {
    "steps below 0": lambda image: torch.from_numpy(image[:, :, ::-1]),
    "divides the picture by 255 twice": lambda image: tensor(image).float() / 255 / 255,
    "divides the picture by 256": lambda image: tensor(image).float() / 256,
    "divides the picture by True": lambda image: tensor(image) / True,
    "makes the picture one of torch.float16": lambda image: tensor(image).to(torch.float16),
    "makes the picture one of int32": lambda image: tensor(image.astype("int32")),
    "makes the picture one of uint8": lambda image: tensor((image / 255).astype(np.uint8)),
    "transposes the picture by (1, 0, 2)": lambda image: image.transpose(1, 0, 2),
    "uses .mean of the picture": lambda image: tensor(image).float().mean(),
    "applies Resize to an array": lambda image: RESIZE(image),
    "a mode of its own": lambda image: TO_LUMINANCE(image),
    "inplace=True": grey_twice,
    "2:9, 3:9": lambda image: tensor(image[2:9, 3:9]),
    "cv2.resize of what was computed": lambda image: cv2.resize(image.astype("float32"), (8, 8)),
    "decides by the picture": lambda image: tensor(image) if image else None,
    "calls np.copy": lambda image: np.copy(image),
}


class Ends(Photos):
    def __init__(self, root, end):
        super().__init__(root)
        self.by = end

    def end(self, image):
        return self.by(image)


@pytest.mark.parametrize("words", CASES)
def test_what_is_refused(photos, words):
    with pytest.raises(NotNative) as refused:
        items_of(Ends(photos, CASES[words]))
    assert words in str(refused.value)


def test_a_quotient_of_bytes_has_torchs_default_type(photos):
    data = Ends(photos, lambda image: tensor(image) / 255)
    before = items_of(data)
    torch.set_default_dtype(torch.float64)
    try:
        assert not before.seen.same()
        with pytest.raises(NotNative, match="float64"):
            items_of(data)
    finally:
        torch.set_default_dtype(torch.float32)


class OfPathlib(Photos):
    def __getitem__(self, i):
        return self.transform(cv2.imread(Path(self.paths[i])))


class Twice(Photos):
    def __getitem__(self, i):
        return self.transform(cv2.imread(self.paths[i], 0)), self.transform(self.read(i))


def test_paths_are_texts(photos):
    with pytest.raises(NotNative, match="what is no text"):
        items_of(OfPathlib(photos))


def test_two_ways_to_read_a_file_are_two_pictures(photos):
    with pytest.raises(NotNative, match="several pictures for each sample"):
        items_of(Twice(photos))


def test_a_replaced_method_is_not_followed(photos, monkeypatch):
    data = Ends(photos, lambda image: tensor(image).float())
    before = items_of(data)
    own = torch.Tensor.float
    monkeypatch.setattr(torch.Tensor, "float", lambda self: own(self) + 1, raising=False)
    assert not before.seen.same()
    with pytest.raises(NotNative, match="replaced"):
        items_of(data)


def test_each_call_is_tried_once(photos):
    found = items_of(Ends(photos, lambda image: (tensor(image), tensor(cv2.flip(image, 1)))))
    assert [call.node.op for call in found.calls] == ["cv_resize", "flip"]
