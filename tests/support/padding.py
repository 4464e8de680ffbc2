"""collate functions that pad, as programs write them. Each takes samples (image, label)."""

# ruff: noqa: B905, B007 - code as programs have it

import math

import torch
import torch.nn.functional as F  # noqa: N812
from torch.nn.utils.rnn import pad_sequence


def cat_list(images, fill_value=0):
    """Of torchvision's segmentation references."""
    max_size = tuple(max(s) for s in zip(*[img.shape for img in images]))
    batch_shape = (len(images),) + max_size
    batched_imgs = images[0].new(*batch_shape).fill_(fill_value)
    for img, pad_img in zip(images, batched_imgs):
        pad_img[..., : img.shape[-2], : img.shape[-1]].copy_(img)
    return batched_imgs


def segmentation(batch):
    images, targets = list(zip(*batch))
    batched_imgs = cat_list(images, fill_value=0)
    batched_targets = cat_list(targets, fill_value=255)
    return batched_imgs, batched_targets


def references(batch):
    images, labels = list(zip(*batch))
    return cat_list(images, fill_value=7), labels


def _max_by_axis(the_list):
    maxes = the_list[0]
    for sublist in the_list[1:]:
        for index, item in enumerate(sublist):
            maxes[index] = max(maxes[index], item)
    return maxes


def batch_images(images, size_divisible=32):
    """Of torchvision's GeneralizedRCNNTransform."""
    max_size = _max_by_axis([list(img.shape) for img in images])
    stride = float(size_divisible)
    max_size = list(max_size)
    max_size[1] = int(math.ceil(float(max_size[1]) / stride) * stride)
    max_size[2] = int(math.ceil(float(max_size[2]) / stride) * stride)
    batch_shape = [len(images)] + max_size
    batched_imgs = images[0].new_full(batch_shape, 0)
    for i in range(batched_imgs.shape[0]):
        img = images[i]
        batched_imgs[i, : img.shape[0], : img.shape[1], : img.shape[2]].copy_(img)
    return batched_imgs


def detection(batch):
    return batch_images([image for image, _ in batch]), [label for _, label in batch]


def nested_tensors(batch):
    """As DETR makes them, with the mask of what is padded."""
    tensor_list, labels = zip(*batch)
    if tensor_list[0].ndim == 3:
        max_size = _max_by_axis([list(img.shape) for img in tensor_list])
        batch_shape = [len(tensor_list)] + max_size
        b, c, h, w = batch_shape
        dtype = tensor_list[0].dtype
        device = tensor_list[0].device
        tensor = torch.zeros(batch_shape, dtype=dtype, device=device)
        mask = torch.ones((b, h, w), dtype=torch.bool, device=device)
        for img, pad_img, m in zip(tensor_list, tensor, mask):
            pad_img[: img.shape[0], : img.shape[1], : img.shape[2]].copy_(img)
            m[: img.shape[1], : img.shape[2]] = False
    return {"tensors": tensor, "mask": mask, "labels": torch.tensor(labels)}


def by_hand(batch):
    """With the list of images, and their sizes."""
    images, labels = zip(*batch)
    height = max(image.shape[1] for image in images)
    width = max([image.size(2) for image in images])
    padded = torch.zeros(len(images), 3, height, width)
    for i, image in enumerate(images):
        padded[i, :, : image.shape[1], : image.shape[2]] = image
    heights = torch.tensor([image.shape[1] for image in images], dtype=torch.int32)
    widths = torch.as_tensor([image.shape[-1] for image in images])
    return padded, heights, widths, torch.tensor(labels), images


class Padder:
    """As square as the longest side of the batch, in steps, at the end of the row."""

    def __init__(self, fill):
        self.fill = fill

    def __call__(self, samples):
        images = [sample[0] for sample in samples]
        longest = max(max(image.shape[1], image.shape[2]) for image in images)
        side = (longest + 15) // 16 * 16
        out = images[0].new_full((len(images), images[0].shape[0], side, side), self.fill)
        for row, image in zip(out, images):
            row[:, side - image.shape[1] :, side - image.shape[2] :] = image
        return out


def full(batch):
    images = tuple(image for image, _ in batch)
    size = max(image.shape[1] for image in images), max(image.shape[2] for image in images)
    out = torch.full((len(batch), 3, *size), -1.5)
    for at, (image, _) in enumerate(batch):
        out[at, :, : image.shape[1], : image.shape[2]] = image
    return out


def by_function(batch):
    """Around each image, with the labels beside."""
    images = [image for image, _ in batch]
    height = max(image.shape[-2] for image in images)
    width = max(image.shape[-1] for image in images)
    made = []
    for image in images:
        right, below = width - image.shape[-1], height - image.shape[-2]
        made.append(F.pad(image, (right // 2, right - right // 2, 0, below), value=0.5))
    return torch.stack(made), torch.tensor([label for _, label in batch])


def by_mode(batch):
    side = max(image.shape[1] for image, _ in batch)
    return torch.stack([F.pad(x, [0, 0, 0, side - x.shape[1], 0, 1]) for x, _ in batch])


def sequences(batch):
    images, labels = zip(*batch)
    return pad_sequence(images, batch_first=True, padding_value=2.5), torch.tensor(labels)


def sequences_first(batch):
    return pad_sequence([image for image, _ in batch])
