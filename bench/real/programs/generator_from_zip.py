"""A generator's pictures out of a zip file, opened when first needed, with mirrored copies; endless."""

import os
import zipfile

import numpy as np
import PIL.Image
import torch
from recording import Recorder, parser, seed_all


class ImageFolderDataset(torch.utils.data.Dataset):
    def __init__(self, path, xflip=False, random_seed=0):
        self._path = path
        self._zipfile = None
        self._all_fnames = set(self._get_zipfile().namelist())
        self._image_fnames = sorted(f for f in self._all_fnames if os.path.splitext(f)[1] == ".png")
        raw_shape = [len(self._image_fnames)] + list(self._load_raw_image(0).shape)
        self._raw_shape = list(raw_shape)
        self._raw_idx = np.arange(self._raw_shape[0], dtype=np.int64)
        self._xflip = np.zeros(self._raw_idx.size, dtype=np.uint8)
        if xflip:
            self._raw_idx = np.tile(self._raw_idx, 2)
            self._xflip = np.concatenate([self._xflip, np.ones_like(self._xflip)])
        self.close()  # each worker opens its own

    def _get_zipfile(self):
        if self._zipfile is None:
            self._zipfile = zipfile.ZipFile(self._path)
        return self._zipfile

    def _open_file(self, fname):
        return self._get_zipfile().open(fname, "r")

    def close(self):
        try:
            if self._zipfile is not None:
                self._zipfile.close()
        finally:
            self._zipfile = None

    def __getstate__(self):
        return dict(self.__dict__, _zipfile=None)

    def __del__(self):
        try:
            self.close()
        except Exception:
            pass

    def _load_raw_image(self, raw_idx):
        with self._open_file(self._image_fnames[raw_idx]) as f:
            image = np.array(PIL.Image.open(f))
        if image.ndim == 2:
            image = image[:, :, np.newaxis]
        return image.transpose(2, 0, 1)

    def __len__(self):
        return self._raw_idx.size

    def __getitem__(self, idx):
        image = self._load_raw_image(self._raw_idx[idx])
        assert isinstance(image, np.ndarray) and list(image.shape) == self._raw_shape[1:]
        if self._xflip[idx]:
            image = image[:, :, ::-1]
        return image.copy(), np.zeros(0, dtype=np.float32)


class InfiniteSampler(torch.utils.data.Sampler):
    def __init__(self, dataset, shuffle=True, seed=0, window_size=0.5):
        self.dataset, self.shuffle, self.seed, self.window_size = (
            dataset,
            shuffle,
            seed,
            window_size,
        )

    def __iter__(self):
        order = np.arange(len(self.dataset))
        rnd = np.random.RandomState(self.seed)
        rnd.shuffle(order)
        window = int(np.rint(order.size * self.window_size))
        idx = 0
        while True:
            i = idx % order.size
            yield order[i]
            if window >= 2:
                j = (i - rnd.randint(window)) % order.size
                order[i], order[j] = order[j], order[i]
            idx += 1


if __name__ == "__main__":
    args = parser(__doc__).parse_args()
    seed_all(18)
    training_set = ImageFolderDataset(f"{args.data}/faces.zip", xflip=True)
    recorder = Recorder()
    for epoch in range(args.epochs):
        loader = torch.utils.data.DataLoader(
            training_set, args.batch_size, sampler=InfiniteSampler(training_set, seed=epoch),
            num_workers=args.workers, prefetch_factor=2,
        )  # fmt: skip
        for step, _ in enumerate(recorder.epoch(loader)):
            if step == 11:
                break
    recorder.finish()
