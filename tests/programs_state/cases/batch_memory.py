"""Sizes, strides and shared memory of batches."""

from pathlib import Path

import numpy as np
import torch
from bits import epochs, say, show
from cases import Look, case, looked, main
from torch.utils.data import DataLoader, Dataset, TensorDataset, default_collate


def collated(collate, count=1, look=lambda i: torch.ones(3) * i, **named):
    looked(look, count, collate_fn=lambda items: collate([item for _, item in items]), **named)


@case(workers=2, always=True)
def batch_over_one_mebibyte():
    looked(lambda i: torch.rand(200, 900) + i, 2)


@case(workers=2, hosts=2)
def batch_over_one_mebibyte_made_once():
    made = Path("made.txt")

    def look(i):
        with open(made, "a") as file:
            file.write(f"{i} ")
        return torch.full((300, 1000), float(i))

    looked(look, 2)
    say(str(sorted(made.read_text().split())))


@case()
def samples_are_made_once():
    made = Path("made.txt")

    def look(i):
        with open(made, "a") as file:
            file.write(f"{i} ")
        return i

    looked(look, 3, shuffle=True)
    looked(look, 1, num_workers=0)
    say(str(sorted(made.read_text().split())))


@case()
def batch_over_32_mebibytes():
    looked(lambda i: torch.full((6, 1 << 20), float(i)), batch_size=2, num_workers=1)


@case()
def lists_over_32_mebibytes():
    collated(
        lambda items: [item.t() for item in items], look=lambda i: torch.full((4096, 1100), 1.0 * i)
    )


@case()
def bytes_over_32_mebibytes():
    collated(lambda items: [bytes([7]) * (20 << 20) for _ in items], num_workers=1)


@case(workers=2)
def strides():
    def collate(items):
        whole = torch.stack(items)
        return (
            whole.t(),
            whole[:, ::2],
            whole.expand(2, 2, 3),
            whole[0],
            torch.empty(0, 5),
            whole[:0],
        )

    collated(collate)


@case()
def strides_of_samples():
    collated(list, look=lambda i: torch.arange(24.0).reshape(2, 3, 4).permute(2, 0, 1)[::2] + i)


@case()
def channels_last():
    collated(
        lambda items: torch.stack(items).to(memory_format=torch.channels_last),
        look=lambda i: torch.rand(3, 4, 5),
    )


@case()
def empty_tensors_from_numpy():
    collated(list, look=lambda i: torch.from_numpy(np.zeros((0, 5))).type(torch.float32))


@case(workers=2, hosts=2, always=True)
def views_of_one_storage():
    def collate(items):
        x = torch.stack(items)
        return {"x": x, "first": x[0], "flat": x.view(-1), "again": x}

    epochs(
        DataLoader(
            Look(lambda i: 1.0 * i), 2, num_workers=2, collate_fn=lambda s: collate(_items(s))
        ),
        each=lambda epoch, number, batch: (batch["x"].mul_(2), show(batch["first"], "first")),
    )


def _items(samples):
    return [torch.ones(3) * value for _, value in samples]


@case()
def views_over_one_mebibyte():
    def collate(items):
        x = torch.stack(items)
        return [x, x[1:], x.transpose(0, 1)]

    collated(collate, look=lambda i: torch.full((400, 500), float(i)))


@case()
def one_object_twice():
    def collate(items):
        shared = [1, 2]
        return [shared, shared, {"same": shared}, items[0], items[0]]

    collated(collate)


@case()
def arrays_that_share_memory():
    def collate(items):
        whole = np.stack(items)
        return [whole, whole[0], whole.T]

    collated(collate, look=lambda i: np.arange(4.0) + i)


@case()
def tensor_and_array_of_one_memory():
    def collate(items):
        array = np.stack(items)
        return [array, torch.from_numpy(array)]

    collated(collate, look=lambda i: np.arange(4.0) + i)


@case()
def sample_kept_by_the_data_set_and_collated_by_itself():
    """Its own use of default_collate must not end in memory that is used again."""

    class Clips(Dataset):
        kept = None

        def __len__(self):
            return 24

        def __getitem__(self, i):
            if self.kept is None:
                self.kept = default_collate([torch.full((64, 64), float(k)) for k in range(4)])
            return self.kept + i

    epochs(DataLoader(Clips(), 2, num_workers=2, prefetch_factor=2), 2)


@case(workers=2)
def batch_kept_by_the_collate():
    """What default_collate makes for other code must not lie in memory that is used again."""
    kept = []

    def collate(items):
        kept.append(default_collate(items))
        return kept[0], kept[-1]

    data = Look(lambda i: torch.full((64, 64), 1.0 * i), 40)
    epochs(DataLoader(data, 2, num_workers=2, collate_fn=collate, prefetch_factor=2), 2)


@case()
def where_memory_is():
    loader = DataLoader(Look(lambda i: torch.ones(2) * i), 2, num_workers=2)
    for indices, values in loader:
        show([indices.is_pinned(), values.is_pinned(), values.is_leaf, str(values.device)])


@case(always=True)
def storages_of_a_batch():
    loader = DataLoader(Look(lambda i: torch.ones(2) * i), 2, num_workers=2)
    for batch in loader:
        show([(t.untyped_storage().nbytes(), t.storage_offset()) for t in batch])


@case()
def batches_changed_and_resized_by_the_loop():
    def each(epoch, number, batch):
        batch[1].resize_(2).fill_(3)
        batch[0].numpy()[:] = 9

    epochs(DataLoader(Look(lambda i: torch.ones(2) * i), 2, num_workers=2), 2, each=each)


@case(workers=2)
def batches_kept_by_the_loop():
    kept = []
    loader = DataLoader(Look(lambda i: torch.rand(50, 50)), 2, num_workers=2)
    epochs(loader, 3, each=lambda epoch, number, batch: kept.append(batch))
    show(kept, "kept")


@case()
def batch_sent_to_another_process():
    import multiprocessing

    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe()
    process = context.Process(target=lambda: theirs.send(ours_sum(theirs.recv())))
    process.start()
    (batch,) = DataLoader(TensorDataset(torch.arange(6.0)), 6, num_workers=1)
    ours.send(batch)
    show(ours.recv())
    process.join()


def ours_sum(batch):
    return sum(float(item.sum()) for item in batch)


if __name__ == "__main__":
    main()
