"""Functions that read a picture as torchvision does, where somebody sees it beside the transform."""

import pathlib
import sys
import tempfile
from builtins import locals as all_names
from functools import partial
from inspect import stack as frames

import torch
from torchvision.io import ImageReadMode, decode_image
from torchvision.transforms import v2

from support.deferred_tensors import encoded
from support.photos import encode_photo

RGB = ImageReadMode.RGB


def frame_of_caller():
    return sys._getframe(1)


def names_of_caller():
    return sys._getframe(1).f_locals


def training():
    tail = [v2.RandomHorizontalFlip(), v2.ToDtype(torch.float32, scale=True)]
    return v2.Compose([v2.RandomResizedCrop(24), *tail])


class Pictures:
    """As a Dataset is written. Its methods by what they do."""

    def __init__(self, files):
        self.files = [(encoded(file), at) for at, file in enumerate(files)]
        self.data = [data for data, _ in self.files]
        folder = pathlib.Path(tempfile.mkdtemp())
        self.root = str(folder)
        self.paths = [folder / f"{at}.jpg" for at in range(len(files))]
        for path, file in zip(self.paths, files, strict=True):
            path.write_bytes(file)
        self.equal = [encoded(encode_photo(48, 64, at)) for at in range(len(files))]
        self.labels = list(range(len(files)))
        self.transform = self.first = training()
        self.other = v2.Compose([lambda t: (type(t), t + 1), lambda pair: pair])
        self.target_transform = None
        self.last = None
        self.all_names, self.ask = locals, dict
        # To the size that it has after the first one: the tensor itself, which is then written into.
        floats = v2.ToDtype(torch.float32, scale=True)
        erase = v2.RandomErasing(p=1.0, inplace=True)
        self.erasing = v2.Compose([v2.Resize((48, 64)), erase, floats])
        self.small = v2.Compose([v2.Resize((32, 32)), floats])

    def update(self):
        self.transform = self.other


# Where somebody sees it, may see it, or may put something else in the transform's place.


class Seen(Pictures):
    def returned(self, i):
        return decode_image(self.data[i], RGB)

    def type_is_asked(self, i):
        image = decode_image(self.data[i], RGB)
        plain = type(image) is torch.Tensor
        return plain, self.transform(image)

    def type_is_asked_after(self, i):
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, type(image) is torch.Tensor

    def twice(self, i):
        image = decode_image(self.data[i], RGB)
        return self.transform(image), self.transform(image)

    def by_two_transforms(self, i):
        big, small = self.erasing, self.small
        image = decode_image(self.equal[i], RGB)
        return big(image), small(image)

    def by_two_transforms_on_one_way(self, i):
        big, small = self.erasing, self.small
        image = decode_image(self.equal[i], RGB)
        made = big(image) if i % 2 else None
        return made, small(image)

    def again_in_a_loop(self, i):
        big, made = self.erasing, []
        image = decode_image(self.equal[i], RGB)
        for _ in range(2):
            made.append(big(image))
        return made

    def under_another_name(self, i):
        big, small = self.erasing, self.small
        image = other = decode_image(self.equal[i], RGB)
        image = big(image)
        return image, small(other)

    def returned_after_it(self, i):
        image = decode_image(self.equal[i], RGB)
        made = self.erasing(image)
        return made, image

    def compared_after_it(self, i):
        image = decode_image(self.equal[i], RGB)
        made = self.transform(image)
        return made, image is made

    def kept(self, i):
        self.last = image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, type(self.last)

    def in_a_list(self, i):
        images = [decode_image(self.data[i], RGB)]
        return self.transform(images[0]), type(images[0])

    def in_a_closure(self, i):
        image = decode_image(self.data[i], RGB)
        look = lambda: type(image)  # noqa: E731
        return self.transform(image), look()

    def rebound_by_a_method(self, i):
        self.transform = training()
        image = decode_image(self.data[i], RGB)
        self.update()
        return self.transform(image)

    def rebound(self, i):
        self.transform = training()
        image = decode_image(self.data[i], RGB)
        self.transform = self.other
        return self.transform(image)

    def rebound_by_the_argument(self, i):
        """The transform that was there before is called."""
        self.transform, native = self.other, self.transform
        return self.transform(decode_image(self._data_and(native, i), RGB))

    def _data_and(self, transform, i):
        self.transform = transform
        return self.data[i]

    def local_of_two_loops(self, i):
        transform, made = self.transform, []
        for at in range(2):
            image = decode_image(self.data[at], RGB)
            made.append(transform(image))
            transform = self.other
        return made

    def one_of_two(self, i):
        transform = self.transform if self.labels[i] < 0 else self.other
        return transform(decode_image(self.data[i], RGB))

    def rebound_in_a_loop(self, i):
        self.transform = training()
        made = []
        for data in self.data[:2]:
            image = decode_image(data, RGB)
            made.append(self.transform(image))
            self.transform = self.other
        return made

    def on_one_way(self, i):
        image = decode_image(self.data[i], RGB)
        if self.labels[i] % 2:
            image = self.transform(image)
        return type(image), image

    def caught(self, i):
        image = None
        try:
            image = decode_image(self.data[i], RGB)
            return self.transform(image), 1 // 0
        except ZeroDivisionError:
            return type(image), image

    def by_locals(self, i):
        image = decode_image(self.data[i], RGB)
        return type(locals()["image"]), self.transform(image)

    def by_locals_of_another_name(self, i):
        image = decode_image(self.data[i], RGB)
        return type(all_names()["image"]), self.transform(image)

    def by_locals_of_another_name_after_it(self, i):
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, type(all_names()["image"])

    def by_locals_in_an_attribute(self, i):
        image = decode_image(self.data[i], RGB)
        return type(self.all_names()["image"]), self.transform(image)

    def by_locals_in_an_attribute_after_it(self, i):
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, type(self.all_names()["image"])

    def by_locals_as_an_argument(self, i, names=locals):
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, type(names()["image"])

    def by_locals_of_a_closure(self, i):
        names = self.all_names

        def sample(i):
            image = decode_image(self.data[i], RGB)
            made = self.transform(image)
            return made, type(names()["image"])

        return sample(i)

    def by_its_frame(self, i):
        names = sys._getframe().f_locals
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, names["i"], sorted(names)

    def by_a_frame_from_elsewhere(self, i):
        frame = frame_of_caller()
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, type(frame.f_locals["image"])

    def by_locals_that_another_calls(self, i):
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, type(partial(all_names)()["image"])

    def by_the_frames(self, i):
        first = frames()[0]
        image = decode_image(self.data[i], RGB)
        made = self.transform(image)
        return made, type(getattr(first[0], "f_" + "locals")["image"])

    def waits(self, i):
        def parts():
            image = decode_image(self.data[i], RGB)
            yield type(image)
            yield self.transform(image)

        return list(parts())

    def by_name(self, i):
        image = decode_image(self.data[i], RGB)
        return self.other(inpt=image) if False else type(image)

    def by_another_function(self, i):
        return self.transform(list(map(decode_image, self.data))[i])

    def a_part(self, i):
        return self.transform(decode_image(self.data[i], RGB)[:, 1:])

    def by_own_transform(self, i):
        return self.other(decode_image(self.data[i], RGB))
