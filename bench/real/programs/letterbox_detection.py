"""Evaluation of a detector: pictures resized into a square with grey borders, in the order of the list."""

import json
from functools import partial

import cv2
import numpy as np
import torch
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def letterbox(im, new_shape=(416, 416), color=(114, 114, 114), scaleup=True):
    shape = im.shape[:2]
    r = min(new_shape[0] / shape[0], new_shape[1] / shape[1])
    if not scaleup:
        r = min(r, 1.0)
    new_unpad = int(round(shape[1] * r)), int(round(shape[0] * r))
    dw, dh = new_shape[1] - new_unpad[0], new_shape[0] - new_unpad[1]
    dw /= 2
    dh /= 2
    if shape[::-1] != new_unpad:
        im = cv2.resize(im, new_unpad, interpolation=cv2.INTER_LINEAR)
    top, bottom = int(round(dh - 0.1)), int(round(dh + 0.1))
    left, right = int(round(dw - 0.1)), int(round(dw + 0.1))
    im = cv2.copyMakeBorder(im, top, bottom, left, right, cv2.BORDER_CONSTANT, value=color)
    return im, r, (dw, dh)


class Validation(Dataset):
    def __init__(self, root, preproc):
        with open(f"{root}/notes.json") as file:
            self.notes = json.load(file)
        self.root = root
        self.preproc = preproc

    def __len__(self):
        return len(self.notes)

    def __getitem__(self, index):
        note = self.notes[index]
        image = cv2.imread(f"{self.root}/{note['file']}")
        image, ratio, pad = self.preproc(image)
        image = image[:, :, ::-1].transpose(2, 0, 1)
        image = np.ascontiguousarray(image, dtype=np.float32)
        image /= 255.0
        boxes = np.array(note["boxes"], dtype=np.float32)
        boxes[:, :2] = boxes[:, :2] * ratio + pad
        boxes[:, 2:] *= ratio
        target = np.zeros((50, 5), dtype=np.float32)
        target[: len(boxes), :4] = boxes
        target[: len(boxes), 4] = note["classes"]
        return (
            torch.from_numpy(image),
            torch.from_numpy(target),
            (note["height"], note["width"]),
            index,
        )


def main():
    options = parser(__doc__)
    options.add_argument("--img-size", type=int, default=416)
    args = options.parse_args()
    seed_all(9)
    dataset = Validation(args.data, partial(letterbox, new_shape=(args.img_size, args.img_size)))
    loader = DataLoader(dataset, args.batch_size, shuffle=False, num_workers=args.workers)
    recorder = Recorder()
    for _ in range(args.epochs):
        for images, _, info, ids in recorder.epoch(loader):
            assert len(info) == 2 and len(ids) == len(images)
    recorder.finish()


if __name__ == "__main__":
    main()
