"""Recommendation: pairs of users and items, with negatives that are drawn anew at each epoch's begin."""

import numpy as np
import pandas as pd
import scipy.sparse as sp
import torch.utils.data as data
from recording import Recorder, parser, seed_all


def load_all(path):
    train_data = pd.read_csv(
        path, sep=" ", header=None, names=["user", "item"], dtype={0: np.int32, 1: np.int32}
    )
    user_num, item_num = train_data["user"].max() + 1, train_data["item"].max() + 1
    pairs = train_data.values.tolist()
    train_mat = sp.dok_matrix((user_num, item_num), dtype=np.float32)
    for user, item in pairs:
        train_mat[user, item] = 1.0
    return pairs, user_num, item_num, train_mat


class NCFData(data.Dataset):
    def __init__(self, features, num_item, train_mat=None, num_ng=0, is_training=None):
        super().__init__()
        self.features_ps = features
        self.num_item = num_item
        self.train_mat = train_mat
        self.num_ng = num_ng
        self.is_training = is_training
        self.labels = [0 for _ in range(len(features))]

    def ng_sample(self):
        assert self.is_training, "no need to sampling when testing"
        self.features_ng = []
        for u, _ in self.features_ps:
            for _ in range(self.num_ng):
                j = np.random.randint(self.num_item)
                while (u, j) in self.train_mat:
                    j = np.random.randint(self.num_item)
                self.features_ng.append([u, j])
        labels_ps = [1 for _ in range(len(self.features_ps))]
        labels_ng = [0 for _ in range(len(self.features_ng))]
        self.features_fill = self.features_ps + self.features_ng
        self.labels_fill = labels_ps + labels_ng

    def __len__(self):
        return (self.num_ng + 1) * len(self.labels)

    def __getitem__(self, idx):
        features = self.features_fill if self.is_training else self.features_ps
        labels = self.labels_fill if self.is_training else self.labels
        return features[idx][0], features[idx][1], labels[idx]


if __name__ == "__main__":
    args = parser(__doc__, batch_size=256).parse_args()
    seed_all(40)
    train_data, user_num, item_num, train_mat = load_all(f"{args.data}/ratings.txt")
    train_dataset = NCFData(train_data[:8000], item_num, train_mat, 2, True)
    train_loader = data.DataLoader(
        train_dataset, batch_size=args.batch_size, shuffle=True, num_workers=args.workers
    )
    recorder = Recorder()
    for _ in range(args.epochs):
        train_loader.dataset.ng_sample()
        for user, item, label in recorder.epoch(train_loader):
            assert len(user) == len(item) == len(label)
    recorder.finish()
