"""Graphs: objects with tensors, batches that join them, and a loader of nodes whose collate draws the neighbours."""

import copy
import itertools

import numpy as np
import torch
from made_here import made
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset


def make_graphs(folder, rng):
    graphs = []
    for _ in range(400):
        n = int(rng.integers(10, 60))
        e = int(rng.integers(2 * n, 6 * n))
        graphs.append(
            (
                rng.normal(size=(n, 16)).astype("f4"),
                rng.integers(0, n, (2, e)),
                int(rng.integers(0, 5)),
            )
        )
    x, edges = [
        np.concatenate(p, a) for p, a in (([g[0] for g in graphs], 0), ([g[1] for g in graphs], 1))
    ]
    np.savez(
        folder / "molecules.npz",
        x=x,
        edge_index=edges,
        y=[g[2] for g in graphs],
        n=np.cumsum([0] + [len(g[0]) for g in graphs]),
        e=np.cumsum([0] + [g[1].shape[1] for g in graphs]),
    )
    np.savez(
        folder / "papers.npz",
        edge_index=rng.integers(0, 5000, (2, 60_000)),
        x=rng.normal(size=(5000, 64)).astype("f4"),
    )


class Data:
    def __init__(self, **kwargs):
        self._store = {}
        for k, v in kwargs.items():
            setattr(self, k, v)

    def __setattr__(self, key, value):
        if key == "_store":
            self.__dict__[key] = value
        else:
            self._store[key] = value

    def __getattr__(self, key):
        if key.startswith("__") or key == "_store":
            raise AttributeError(key)
        try:
            return self.__dict__["_store"][key]
        except KeyError:
            raise AttributeError(key) from None

    @property
    def num_nodes(self):
        return self.x.size(0)


class Batch(Data):
    @classmethod
    def from_data_list(cls, data_list):
        batch, total = [], 0
        edges = []
        for i, d in enumerate(data_list):
            batch.append(torch.full((d.num_nodes,), i, dtype=torch.long))
            edges.append(d.edge_index + total)
            total += d.num_nodes
        return cls(
            x=torch.cat([d.x for d in data_list]),
            edge_index=torch.cat(edges, 1),
            y=torch.cat([d.y for d in data_list]),
            batch=torch.cat(batch),
        )


class Molecules(Dataset):
    def __init__(self, path, transform=None):
        f = np.load(path)
        self.data = Data(
            x=torch.from_numpy(f["x"]),
            edge_index=torch.from_numpy(f["edge_index"]),
            y=torch.from_numpy(f["y"]),
        )
        self.slices = {"x": f["n"].tolist(), "edge_index": f["e"].tolist()}
        self.transform = transform
        self._data_list = None

    def __len__(self):
        return len(self.slices["x"]) - 1

    def get(self, idx):
        if self._data_list is None:
            self._data_list = len(self) * [None]
        elif self._data_list[idx] is not None:
            return copy.copy(self._data_list[idx])
        s, e = self.slices["x"], self.slices["edge_index"]
        out = Data(
            x=self.data.x[s[idx] : s[idx + 1]],
            edge_index=self.data.edge_index[:, e[idx] : e[idx + 1]],
            y=self.data.y[idx : idx + 1],
        )
        self._data_list[idx] = copy.copy(out)
        return out

    def __getitem__(self, idx):
        data = self.get(idx)
        return data if self.transform is None else self.transform(data)


def add_self_loops_and_drop(data):
    keep = torch.rand(data.edge_index.size(1)) > 0.1
    loops = torch.arange(data.num_nodes).repeat(2, 1)
    return Data(
        x=data.x + 0.01 * torch.randn_like(data.x),
        edge_index=torch.cat([data.edge_index[:, keep], loops], 1),
        y=data.y,
    )


class Collater:
    def __call__(self, batch):
        return Batch.from_data_list(batch)


class NeighborSampler(DataLoader):
    def __init__(self, edge_index, x, sizes, **kwargs):
        row, col = edge_index
        order = col.argsort(stable=True)
        self.row, self.x, self.sizes = row[order], x, sizes
        self.ptr = torch.cat(
            [torch.zeros(1, dtype=torch.long), torch.bincount(col, minlength=len(x)).cumsum(0)]
        )
        super().__init__(range(len(x)), collate_fn=self.sample, **kwargs)

    def sample(self, batch):
        n_id = torch.tensor(batch)
        adjs = []
        for size in self.sizes:
            deg = self.ptr[n_id + 1] - self.ptr[n_id]
            pick = (torch.rand(len(n_id), size) * deg.clamp(min=1)[:, None]).long() + self.ptr[
                n_id
            ][:, None]
            src = self.row[pick.clamp(max=len(self.row) - 1)]
            adjs.append(
                torch.stack([src.flatten(), torch.arange(len(n_id)).repeat_interleave(size)])
            )
            n_id = torch.unique(torch.cat([n_id, src.flatten()]))
        return len(batch), n_id, adjs[::-1], self.x[n_id]


if __name__ == "__main__":
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(25)
    folder = made(args.data, "graphs", make_graphs)
    loader = DataLoader(
        Molecules(folder / "molecules.npz", add_self_loops_and_drop),
        args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        collate_fn=Collater(),
    )
    papers = np.load(folder / "papers.npz")
    nodes = NeighborSampler(
        torch.from_numpy(papers["edge_index"]),
        torch.from_numpy(papers["x"]),
        [10, 5],
        batch_size=256,
        shuffle=True,
        num_workers=args.workers,
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch in recorder.epoch(itertools.chain(loader, nodes)):
            assert isinstance(batch, Batch) or len(batch[1]) == len(batch[3])
    recorder.finish()
