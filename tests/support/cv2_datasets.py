"""Data sets of programs, whose __getitem__ opens pictures with OpenCV."""

import cv2
import numpy as np
import torch
from PIL import Image
from torchvision import transforms as v1
from torchvision.transforms import v2

from support.own_datasets import Joined

MEAN, STD = [0.485, 0.456, 0.406], [0.229, 0.224, 0.225]


def read_rgb(path):
    """A helper function of the program's."""
    image = cv2.imread(path)
    if image is None:
        raise FileNotFoundError(f"can't read {path}")
    return cv2.cvtColor(image, cv2.COLOR_BGR2RGB)


class Photos(Joined):
    side = 32

    def __init__(self, root):
        super().__init__(root)
        self.paths = [f"{self.root}/{name}" for name in self.names]
        self.normalize = v1.Normalize(MEAN, STD)
        self.transform = v1.Compose([v1.ToTensor(), self.normalize])

    def read(self, i):
        """A method of the program's."""
        size = (self.side, self.side + 8)
        return cv2.resize(read_rgb(self.paths[i]), size, interpolation=cv2.INTER_AREA)

    def __getitem__(self, i):
        image = self.read(i)
        return self.end(image), self.labels[i]

    def end(self, image):
        return self.transform(image)


class Arithmetic(Photos):
    def end(self, image):
        return torch.from_numpy(np.ascontiguousarray(image.transpose(2, 0, 1))).float() / 255.0


class Divided(Photos):
    def end(self, image):
        return torch.from_numpy(image).permute(2, 0, 1).contiguous().float().div(255)


class Strided(Photos):
    """No copy in the order of planes, and a transform after it."""

    def end(self, image):
        return self.normalize(torch.from_numpy(image.transpose((2, 0, 1))).to(torch.float32) / 255)


class Single(Photos):
    def end(self, image):
        image = image.astype(np.float32) / 255.0
        return torch.from_numpy(np.transpose(image, (2, 0, 1)))


class Double(Photos):
    """float64, which is rounded at the end."""

    def end(self, image):
        return torch.tensor(image / 255.0).permute((2, 0, 1)).float()


class Bytes(Photos):
    def __getitem__(self, i):
        image = cv2.imread(self.paths[i], cv2.IMREAD_COLOR)
        assert image is not None, f"can't read {self.paths[i]}"
        image = cv2.resize(image, (24, 20))[:, :, ::-1]
        return {"image": torch.from_numpy(image.copy()).permute(2, 0, 1), "label": self.labels[i]}


class Planes(Photos):
    """An array, of which the loader makes a tensor; channels are turned as planes."""

    def __getitem__(self, i):
        image = cv2.resize(cv2.imread(self.paths[i]), (24, 20))
        image = image.transpose(2, 0, 1)[::-1]
        return np.ascontiguousarray(image).astype("float32") / 255, self.labels[i]


class Turned(Photos):
    """A step below 0, which the copy in another type does not have."""

    def __getitem__(self, i):
        image = cv2.resize(cv2.imread(self.paths[i]), (24, 20))[..., ::-1].astype(np.float32)
        return torch.as_tensor(image).permute(2, 0, 1), self.labels[i]


class Whole(Photos):
    """Not divided; tensors of torch's default type."""

    def end(self, image):
        image = torch.from_numpy(image).permute(2, 0, 1)
        return image / 255, image.float()


class Grey(Photos):
    def __getitem__(self, i):
        image = cv2.resize(cv2.imread(self.paths[i], cv2.IMREAD_GRAYSCALE), (24, 20))
        return torch.from_numpy(image).unsqueeze(0).float() / 255, self.labels[i]


class GreyPlane(Grey):
    def __getitem__(self, i):
        image = cv2.resize(cv2.imread(self.paths[i], 0), (24, 20))
        return torch.from_numpy(image[np.newaxis].astype(np.float32) / 255), self.labels[i]


class Pil(Photos):
    """PIL's pictures of OpenCV's arrays, with draws."""

    def __init__(self, root):
        super().__init__(root)
        draws = [v1.RandomResizedCrop(16), v1.RandomHorizontalFlip(), v1.ToTensor()]
        self.transform = v1.Compose([v1.ToPILImage(), *draws])

    def end(self, image):
        return self.transform(image)


class OfArray(Pil):
    def __init__(self, root):
        super().__init__(root)
        self.transform = v2.Compose(
            [v2.RandomResizedCrop(16), v2.ToImage(), v2.ToDtype(torch.float32, scale=True)]
        )

    def end(self, image):
        return self.transform(Image.fromarray(image))


class Two(Photos):
    """Two views of one array."""

    def end(self, image):
        return [self.transform(image), self.transform(cv2.flip(image, 1)), self.transform(image)]


OF_CV2 = {
    kind.__name__: kind
    for kind in (
        Photos, Arithmetic, Divided, Strided, Single, Double, Bytes, Planes, Turned, Whole, Grey,
        GreyPlane, Pil, OfArray, Two,
    )
}  # fmt: skip
