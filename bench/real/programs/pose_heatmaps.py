"""Poses: an affine crop of a person with OpenCV, joints that are flipped by pairs, a heat map a joint."""

import copy
import json
import logging
import random

import cv2
import numpy as np
import torch
import torchvision.transforms as transforms
from recording import Recorder, parser, seed_all
from torch.utils.data import DataLoader, Dataset

logger = logging.getLogger(__name__)
FLIP_PAIRS = [[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12], [13, 14], [15, 16]]


def get_dir(src_point, rot_rad):
    sn, cs = np.sin(rot_rad), np.cos(rot_rad)
    return [src_point[0] * cs - src_point[1] * sn, src_point[0] * sn + src_point[1] * cs]


def get_affine_transform(center, scale, rot, output_size):
    src_w = scale[0] * 200.0
    dst_w, dst_h = output_size
    src_dir = get_dir([0, src_w * -0.5], np.pi * rot / 180)
    dst_dir = np.array([0, dst_w * -0.5], np.float32)
    src = np.zeros((3, 2), dtype=np.float32)
    dst = np.zeros((3, 2), dtype=np.float32)
    src[0, :], src[1, :] = center, center + src_dir
    dst[0, :] = [dst_w * 0.5, dst_h * 0.5]
    dst[1, :] = np.array([dst_w * 0.5, dst_h * 0.5]) + dst_dir
    for points in (src, dst):
        direct = points[0] - points[1]
        points[2] = points[1] + np.array([-direct[1], direct[0]], dtype=np.float32)
    return cv2.getAffineTransform(np.float32(src), np.float32(dst))


def fliplr_joints(joints, joints_vis, width):
    joints[:, 0] = width - joints[:, 0] - 1
    for left, right in FLIP_PAIRS:
        joints[left], joints[right] = joints[right], joints[left].copy()
        joints_vis[left], joints_vis[right] = joints_vis[right], joints_vis[left].copy()
    return joints * joints_vis, joints_vis


class JointsDataset(Dataset):
    def __init__(self, root, transform):
        self.image_size, self.heatmap_size = np.array([192, 256]), np.array([48, 64])
        self.num_joints, self.sigma = 17, 2
        self.scale_factor, self.rotation_factor = 0.35, 45
        self.transform = transform
        self.db = []
        for note in json.load(open(f"{root}/notes.json")):
            joints = np.array(note["joints"])
            vis = np.repeat((joints[:, 2:] > 0).astype(float), 2, 1)
            center = np.array([note["width"] / 2, note["height"] / 2], dtype=np.float32)
            scale = np.array([note["height"] * 0.75 / 200, note["height"] / 200], dtype=np.float32)
            self.db.append(
                {"image": f"{root}/{note['file']}", "center": center, "scale": scale,
                 "joints": joints[:, :2], "joints_vis": vis}
            )  # fmt: skip
        logger.info("=> load %d samples", len(self.db))

    def __len__(self):
        return len(self.db)

    def __getitem__(self, idx):
        db_rec = copy.deepcopy(self.db[idx])
        data_numpy = cv2.imread(db_rec["image"], cv2.IMREAD_COLOR | cv2.IMREAD_IGNORE_ORIENTATION)
        data_numpy = cv2.cvtColor(data_numpy, cv2.COLOR_BGR2RGB)
        joints, joints_vis, c, s = (db_rec[k] for k in ("joints", "joints_vis", "center", "scale"))
        sf, rf = self.scale_factor, self.rotation_factor
        s = s * np.clip(np.random.randn() * sf + 1, 1 - sf, 1 + sf)
        r = np.clip(np.random.randn() * rf, -rf * 2, rf * 2) if random.random() <= 0.6 else 0
        if random.random() <= 0.5:
            data_numpy = data_numpy[:, ::-1, :]
            joints, joints_vis = fliplr_joints(joints, joints_vis, data_numpy.shape[1])
            c[0] = data_numpy.shape[1] - c[0] - 1
        trans = get_affine_transform(c, s, r, self.image_size)
        size = (int(self.image_size[0]), int(self.image_size[1]))
        inputs = self.transform(cv2.warpAffine(data_numpy, trans, size, flags=cv2.INTER_LINEAR))
        for i in range(self.num_joints):
            if joints_vis[i, 0] > 0.0:
                joints[i] = trans @ np.array([joints[i, 0], joints[i, 1], 1.0])
        target, target_weight = self.generate_target(joints, joints_vis)
        meta = {
            "image": db_rec["image"],
            "joints": joints,
            "center": c,
            "scale": s,
            "rotation": float(r),
        }
        return inputs, torch.from_numpy(target), torch.from_numpy(target_weight), meta

    def generate_target(self, joints, joints_vis):
        target_weight = np.ones((self.num_joints, 1), dtype=np.float32)
        target_weight[:, 0] = joints_vis[:, 0]
        target = np.zeros(
            (self.num_joints, self.heatmap_size[1], self.heatmap_size[0]), dtype=np.float32
        )
        tmp_size = self.sigma * 3
        for joint_id in range(self.num_joints):
            mu_x, mu_y = (joints[joint_id] / (self.image_size / self.heatmap_size) + 0.5).astype(
                int
            )
            ul, br = (mu_x - tmp_size, mu_y - tmp_size), (mu_x + tmp_size + 1, mu_y + tmp_size + 1)
            if ul[0] >= 48 or ul[1] >= 64 or br[0] < 0 or br[1] < 0:
                target_weight[joint_id] = 0
                continue
            x = np.arange(0, 2 * tmp_size + 1, 1, np.float32)
            g = np.exp(-((x - tmp_size) ** 2 + (x[:, None] - tmp_size) ** 2) / (2 * self.sigma**2))
            gx, gy = (
                (max(0, -ul[0]), min(br[0], 48) - ul[0]),
                (max(0, -ul[1]), min(br[1], 64) - ul[1]),
            )
            if target_weight[joint_id] > 0.5:
                target[joint_id][max(0, ul[1]) : min(br[1], 64), max(0, ul[0]) : min(br[0], 48)] = (
                    g[gy[0] : gy[1], gx[0] : gx[1]]
                )
        return target, target_weight


def main():
    args = parser(__doc__).parse_args()
    seed_all(22)
    normalize = transforms.Normalize(mean=[0.485, 0.456, 0.406], std=[0.229, 0.224, 0.225])
    dataset = JointsDataset(args.data, transforms.Compose([transforms.ToTensor(), normalize]))
    loader = DataLoader(dataset, args.batch_size, shuffle=True, num_workers=args.workers)
    recorder = Recorder()
    for _ in range(args.epochs):
        for _ in recorder.epoch(loader):
            pass
    recorder.finish()


if __name__ == "__main__":
    main()
