"""Contract: batches for which more is drawn than a message holds. The trainer makes them."""

import numpy as np
from PIL import Image
from support.compare import check
from torch.utils.data import Subset
from torchvision import datasets
from torchvision import transforms as v1

# 2.5 kB for each of these and for each sample: 70 MB a batch.
MANY, SAMPLES = 40, 700


def test_what_is_drawn_for_a_batch_fits_no_message(tmp_path):
    (tmp_path / "c").mkdir()
    for number in range(3):
        pixels = np.full((2, 2, 3), 40 * number + 9, np.uint8)
        Image.fromarray(pixels).save(tmp_path / "c" / f"{number}.png")
    steps = [v1.ElasticTransform(0.5, 0.0) for _ in range(MANY)]
    pictures = datasets.ImageFolder(tmp_path, v1.Compose([*steps, v1.ToTensor()]))
    data = Subset(pictures, [index % 3 for index in range(SAMPLES)])
    check(lambda loader: loader(data, batch_size=SAMPLES, num_workers=1), by_trainer=True, epochs=1)
