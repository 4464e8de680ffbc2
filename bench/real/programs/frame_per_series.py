"""Forecasting from a table of many series: rows grouped by pandas, scalers by series, drawn lengths, covariates."""

from pathlib import Path

import numpy as np
import pandas as pd
import torch
from recording import Recorder, parser, seed_all
from torch.nn.utils import rnn
from torch.utils.data import DataLoader, Dataset


class GroupNormalizer:
    def fit(self, frame, target, group):
        self.norm_ = frame.groupby(group)[target].agg(["mean", "std"])
        self.missing_ = self.norm_.median().to_dict()
        return self

    def get_parameters(self, key):
        try:
            return self.norm_.loc[key].to_numpy()
        except KeyError:
            return np.array([self.missing_["mean"], self.missing_["std"]])


class TimeSeriesDataSet(Dataset):
    def __init__(
        self, frame, max_encoder=96, min_encoder=24, horizon=12, randomize_length=(0.2, 0.05)
    ):
        self.frame = frame.sort_values(["city", "date"]).reset_index(drop=True)
        self.frame["hour"] = self.frame["date"].dt.hour
        self.frame["dow"] = self.frame["date"].dt.dayofweek
        self.normalizer = GroupNormalizer().fit(self.frame, "load", "city")
        self.kinds = {k: i for i, k in enumerate(sorted(self.frame["kind"].unique()))}
        self.max_encoder, self.min_encoder, self.horizon = max_encoder, min_encoder, horizon
        self.randomize_length = randomize_length
        self.index = self._construct_index()

    def _construct_index(self):
        g = self.frame.groupby("city", observed=True)
        index = pd.DataFrame(
            {"first": g["date"].transform("idxmin"), "last": g["date"].transform("idxmax")}
        )
        index["start"] = np.arange(len(index))
        index = index[index["start"] + self.max_encoder + self.horizon <= index["last"]]
        return index.iloc[::9].reset_index(drop=True)

    def __len__(self):
        return self.index.shape[0]

    def __getitem__(self, idx):
        index = self.index.iloc[idx]
        end = index["start"] + self.max_encoder + self.horizon
        data = self.frame.iloc[index["start"] : end]
        if self.randomize_length is not None:
            p = np.random.beta(*self.randomize_length)
            keep = self.min_encoder + int(np.round((self.max_encoder - self.min_encoder) * p))
            data = data.iloc[self.max_encoder - keep :]
        centre, scale = self.normalizer.get_parameters(data["city"].iloc[0])
        target = torch.tensor(((data["load"] - centre) / scale).to_numpy(), dtype=torch.float)
        cont = torch.tensor(
            data[["price", "wind", "hour", "dow"]].to_numpy(np.float64), dtype=torch.float
        )
        cat = torch.tensor(data["kind"].map(self.kinds).to_numpy(np.int64))
        n = len(data) - self.horizon
        return dict(
            x_cat=cat,
            x_cont=cont,
            encoder_length=n,
            groups=data["city"].iloc[0],
            scale=(centre, scale),
            first=str(data["date"].iloc[0]),
        ), (target[n:], None)

    @staticmethod
    def _collate_fn(batches):
        lengths = torch.tensor([b[0]["encoder_length"] for b in batches])
        cont = rnn.pad_sequence([b[0]["x_cont"] for b in batches], batch_first=True)
        cat = rnn.pad_sequence([b[0]["x_cat"] for b in batches], batch_first=True)
        return dict(
            encoder_cat=cat,
            encoder_cont=cont,
            lengths=lengths,
            groups=[b[0]["groups"] for b in batches],
            first=[b[0]["first"] for b in batches],
            target_scale=torch.tensor(np.array([b[0]["scale"] for b in batches])),
        ), (torch.stack([b[1][0] for b in batches]), None)

    def to_dataloader(self, train, batch_size, **kwargs):
        return DataLoader(
            self,
            **{
                **dict(
                    shuffle=train,
                    drop_last=train and len(self) > batch_size,
                    collate_fn=self._collate_fn,
                    batch_size=batch_size,
                ),
                **kwargs,
            },
        )


if __name__ == "__main__":
    args = parser(__doc__, batch_size=64).parse_args()
    seed_all(24)
    frame = pd.read_csv(Path(args.data, "hours.csv"), parse_dates=["date"])
    loader = TimeSeriesDataSet(frame).to_dataloader(True, args.batch_size, num_workers=args.workers)
    recorder = Recorder()
    for _ in range(args.epochs):
        for x, (y, _) in recorder.epoch(loader):
            assert len(x["lengths"]) == len(y)
    recorder.finish()
