"""What a program changes while its loaders run: labels, transforms, lists, files."""

import random

import numpy as np
import pandas
import torch
from bits import epochs, say, show
from cases import case, main, photos
from torch.utils.data import DataLoader, Dataset, Subset, TensorDataset, WeightedRandomSampler
from torchvision import datasets
from torchvision import transforms as T


def _arrays(n=24):
    return torch.arange(n * 3.0).reshape(n, 3), torch.arange(n), torch.arange(n)


def _labels_in_place(workers, **named):
    x, y, index = _arrays()
    loader = DataLoader(TensorDataset(x, y, index), 4, num_workers=workers, **named)

    def each(epoch, number, batch):
        y[batch[2]] += 100
        y[(batch[2] + 8) % len(y)] -= 7

    epochs(loader, 2, each=each)


@case(always=True)
def labels_in_place():
    _labels_in_place(0)


@case()
def labels_in_place_shuffled():
    _labels_in_place(0, shuffle=True)


@case(workers=2)
def labels_in_place_one_worker():
    _labels_in_place(1)


@case(workers=2, hosts=2)
def labels_in_place_two_workers():
    _labels_in_place(2, shuffle=True)


@case()
def labels_in_place_persistent_workers():
    _labels_in_place(2, persistent_workers=True)


@case()
def labels_of_numpy_under_tensors():
    labels = np.arange(24)
    loader = DataLoader(TensorDataset(torch.from_numpy(labels)), 4)
    epochs(loader, 2, each=lambda *_: np.add(labels, 1, out=labels))


@case()
def labels_in_shared_memory_between_epochs():
    labels = torch.arange(24).share_memory_()
    loader = DataLoader(TensorDataset(labels), 4, num_workers=2, persistent_workers=True)
    epochs(loader, 3, before=lambda epoch: labels.add_(epoch))


@case()
def tensors_exchanged():
    data = TensorDataset(torch.arange(8.0))
    loader = DataLoader(data, 2)

    def each(epoch, number, batch):
        if number == 1:
            data.tensors = (torch.arange(8.0) * 10,)

    epochs(loader, 2, each=each)


@case()
def pseudo_labels_of_a_subset():
    x, y, index = _arrays()
    loader = DataLoader(Subset(TensorDataset(x, y, index), range(4, 20)), 4)
    epochs(loader, 2, each=lambda e, n, batch: y.__setitem__(slice(12, 16), batch[1].sum()))


@case(always=True)
def data_set_that_grows():
    class Growing(Dataset):
        def __init__(self):
            self.items = list(range(8))

        def __len__(self):
            return len(self.items)

        def __getitem__(self, i):
            return self.items[i]

    data = Growing()
    for workers in (0, 2):
        epochs(
            DataLoader(data, 2, shuffle=True, num_workers=workers),
            3,
            before=lambda epoch: data.items.append(100 + epoch),
        )


def _small(size):
    return T.Compose([T.Resize((size, size)), T.ToTensor()])


@case()
def transform_between_epochs():
    data = datasets.ImageFolder(photos(), _small(16))
    for workers in (0, 2):
        loader = DataLoader(data, 4, num_workers=workers)
        epochs(loader, 3, before=lambda epoch: setattr(data, "transform", _small(16 + 8 * epoch)))


def _transform_in_mid_epoch(workers, data):
    def each(epoch, number, batch):
        if number == 2:
            data.transform = _small(24 + 8 * epoch)

    epochs(DataLoader(data, 3, num_workers=workers), 2, each=each)


@case(always=True)
def transform_in_mid_epoch():
    _transform_in_mid_epoch(0, datasets.ImageFolder(photos(), _small(16)))


@case(workers=2)
def transform_in_mid_epoch_with_workers():
    _transform_in_mid_epoch(2, datasets.ImageFolder(photos(), _small(16)))


@case()
def setting_of_a_transform_in_mid_epoch():
    flip = T.RandomHorizontalFlip(0.0)
    data = datasets.ImageFolder(photos(), T.Compose([T.Resize((16, 16)), flip, T.ToTensor()]))
    for workers in (0, 2):
        epochs(DataLoader(data, 3, num_workers=workers), 2, each=lambda *_: setattr(flip, "p", 1.0))


@case()
def transform_appended_to_a_list():
    steps = [T.Resize((16, 16)), T.ToTensor()]
    data = datasets.ImageFolder(photos(), T.Compose(steps))
    epochs(
        DataLoader(data, 3, num_workers=2),
        2,
        before=lambda epoch: epoch and steps.append(T.Normalize([0.5], [0.1])),
    )


@case()
def list_of_files_changed():
    data = datasets.ImageFolder(photos(), _small(16))
    for workers in (0, 2):
        loader = DataLoader(data, 3, num_workers=workers)
        epochs(loader, 2, before=lambda epoch: data.samples.reverse())


@case()
def list_of_files_in_mid_epoch():
    data = datasets.ImageFolder(photos(), _small(16))

    def each(epoch, number, batch):
        data.samples[(number * 3 + 3) % len(data)] = (data.samples[0][0], 77)

    epochs(DataLoader(data, 3), 2, each=each)


@case()
def column_of_a_table_between_epochs():
    table = pandas.DataFrame({"label": range(8), "name": [f"n{i}" for i in range(8)]})

    class Rows(Dataset):
        def __len__(self):
            return len(table)

        def __getitem__(self, i):
            row = table.iloc[i]
            return int(row["label"]), row["name"]

    def before(epoch):
        table["label"] += epoch

    for workers in (0, 2):
        epochs(DataLoader(Rows(), 2, num_workers=workers), 3, before=before)


class Epochs(Dataset):
    scale = 1

    def __init__(self):
        self.epoch = 0

    def set_epoch(self, epoch):
        self.epoch = epoch

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return i * self.scale + 1000 * self.epoch + SHIFT


SHIFT = 0


@case(workers=2, hosts=2)
def epoch_of_the_data_set():
    data = Epochs()
    for named in ({"num_workers": 0}, {"num_workers": 2}):
        epochs(DataLoader(data, 2, **named), 3, before=data.set_epoch)


@case(workers=2)
def epoch_of_persistent_workers_stays():
    data = Epochs()
    loader = DataLoader(data, 2, num_workers=2, persistent_workers=True)
    epochs(loader, 3, before=data.set_epoch)


@case(hosts=2)
def class_attribute_and_global_between_epochs():
    def before(epoch):
        global SHIFT
        Epochs.scale, SHIFT = epoch + 1, 50 * epoch

    epochs(DataLoader(Epochs(), 2, num_workers=2), 3, before=before)


@case()
def method_of_the_class_between_epochs():
    def before(epoch):
        Epochs.__getitem__ = lambda self, i: i + 100 * epoch

    epochs(DataLoader(Epochs(), 2, num_workers=2), 3, before=before)


@case()
def class_of_the_data_set_between_epochs():
    class Later(Epochs):
        def __getitem__(self, i):
            return -i

    data = Epochs()
    loader = DataLoader(data, 2, num_workers=2)
    epochs(loader, 2, before=lambda epoch: epoch and setattr(data, "__class__", Later))


@case()
def collate_of_the_loader_between_epochs():
    loader = DataLoader(Epochs(), 2, num_workers=2)
    loader_collate = loader.collate_fn

    def before(epoch):
        loader.collate_fn = list if epoch == 1 else loader_collate

    epochs(loader, 3, before=before)


@case()
def indices_of_a_subset_between_epochs():
    subset = Subset(Epochs(), [0, 1, 2, 3])
    for workers in (0, 2):
        epochs(
            DataLoader(subset, 2, num_workers=workers),
            3,
            before=lambda epoch: setattr(subset, "indices", [epoch, 5, 6, 7]),
        )


@case()
def weights_of_a_sampler_between_epochs():
    sampler = WeightedRandomSampler(torch.ones(8), 8)
    loader = DataLoader(Epochs(), 2, sampler=sampler, num_workers=2)
    epochs(loader, 3, before=lambda epoch: sampler.weights[: epoch * 2].zero_())


@case(workers=2)
def hard_samples_by_the_loss_of_the_loop():
    hard = list(range(8))

    class Hard:
        def __iter__(self):
            while hard:
                yield hard.pop(0)

    def each(epoch, number, batch):
        if number < 4:
            hard.append(int(batch[0]))

    loader = DataLoader(Epochs(), 2, sampler=Hard(), num_workers=1)
    epochs(loader, 1, each=each)
    show(hard, "hard")


@case(always=True)
def batch_changed_in_place_by_the_loop():
    x = torch.arange(12.0)
    loader = DataLoader(TensorDataset(x), 3)

    def each(epoch, number, batch):
        batch[0].mul_(0)
        random.random()

    epochs(loader, 2, each=each)
    show(x, "data")


@case()
def sample_that_is_the_data_set_itself():
    kept = [torch.ones(2) * i for i in range(8)]

    class Same(Dataset):
        def __len__(self):
            return 8

        def __getitem__(self, i):
            return kept[i]

    loader = DataLoader(Same(), None)
    epochs(loader, 2, each=lambda epoch, number, batch: batch.add_(1))
    say(str([item is kept[i] for i, item in enumerate(loader)]))


if __name__ == "__main__":
    main()
