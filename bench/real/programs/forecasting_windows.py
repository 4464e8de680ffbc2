"""Forecasting: windows of a series of hours, with features of time, of a scaler that was fitted first."""

import os
import warnings

import numpy as np
import pandas as pd
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset

warnings.filterwarnings("ignore")


class StandardScaler:
    def __init__(self):
        self.mean, self.std = 0.0, 1.0

    def fit(self, data):
        self.mean, self.std = data.mean(0), data.std(0)

    def transform(self, data):
        return (data - self.mean) / self.std


def time_features(dates):
    index = pd.DatetimeIndex(dates)
    parts = [
        index.hour / 23.0,
        index.dayofweek / 6.0,
        (index.day - 1) / 30.0,
        (index.dayofyear - 1) / 365.0,
    ]
    return np.stack([np.asarray(part) - 0.5 for part in parts], axis=1)


class Dataset_Hour(Dataset):
    def __init__(self, root_path, flag="train", size=(96, 48, 24), data_path="hours.csv"):
        self.seq_len, self.label_len, self.pred_len = size
        assert flag in ["train", "test", "val"]
        self.set_type = {"train": 0, "val": 1, "test": 2}[flag]
        self.root_path, self.data_path = root_path, data_path
        self.__read_data__()

    def __read_data__(self):
        self.scaler = StandardScaler()
        df_raw = pd.read_csv(os.path.join(self.root_path, self.data_path))
        num_train = int(len(df_raw) * 0.7)
        border1s = [0, num_train - self.seq_len, len(df_raw) - num_train // 4]
        border2s = [num_train, num_train + num_train // 4, len(df_raw)]
        border1, border2 = border1s[self.set_type], border2s[self.set_type]
        df_data = df_raw[["price", "load", "wind"]]
        self.scaler.fit(df_data[border1s[0] : border2s[0]].values)
        data = self.scaler.transform(df_data.values)
        self.data_stamp = time_features(pd.to_datetime(df_raw["date"][border1:border2]).values)
        self.data_x = data[border1:border2]
        self.data_y = data[border1:border2]

    def __getitem__(self, index):
        s_begin = index
        s_end = s_begin + self.seq_len
        r_begin = s_end - self.label_len
        r_end = r_begin + self.label_len + self.pred_len
        seq_x, seq_y = self.data_x[s_begin:s_end], self.data_y[r_begin:r_end]
        return seq_x, seq_y, self.data_stamp[s_begin:s_end], self.data_stamp[r_begin:r_end]

    def __len__(self):
        return len(self.data_x) - self.seq_len - self.pred_len + 1

    def inverse_transform(self, data):
        return data * self.scaler.std + self.scaler.mean


if __name__ == "__main__":
    args = parser(__doc__, batch_size=32).parse_args()
    seed_all(39)
    data_set = Dataset_Hour(args.data)
    data_loader = DataLoader(
        data_set, batch_size=args.batch_size, shuffle=True, num_workers=args.workers, drop_last=True
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        for batch_x, batch_y, *marks in recorder.epoch(data_loader):
            batch_x = batch_x.float()
            assert batch_y.shape[1] == 72 and len(marks) == 2
    recorder.finish()
