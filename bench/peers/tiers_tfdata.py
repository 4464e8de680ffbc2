"""tf.data with cache() of decoded images, in memory or in a file; then the random crop, flip, batch."""

import argparse
import os
import pathlib

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow as tf
import tiers_epochs

parser = argparse.ArgumentParser()
parser.add_argument("where", type=pathlib.Path)
parser.add_argument("--cache-file", default="")
arguments = parser.parse_args()

folders = sorted(path for path in arguments.where.iterdir() if path.is_dir())
pairs = [(str(file), label) for label, one in enumerate(folders) for file in sorted(one.iterdir())]
NO_BOX = tf.constant([0.0, 0.0, 1.0, 1.0], shape=[1, 1, 4])


def decoded(path, label):
    return tf.io.decode_jpeg(tf.io.read_file(path), channels=3), label


def augmented(image, label):
    begin, size, _ = tf.image.sample_distorted_bounding_box(
        tf.shape(image),
        NO_BOX,
        area_range=(0.08, 1.0),
        aspect_ratio_range=(3 / 4, 4 / 3),
        max_attempts=10,
        use_image_if_no_bounding_boxes=True,
    )
    image = tf.image.resize(tf.slice(image, begin, size), [224, 224])
    return tf.cast(tf.image.random_flip_left_right(image), tf.uint8), label


paths, labels = zip(*pairs, strict=True)
data = tf.data.Dataset.from_tensor_slices((list(paths), list(labels)))
data = data.map(decoded, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
data = data.cache(arguments.cache_file).shuffle(256)
data = data.map(augmented, num_parallel_calls=tf.data.AUTOTUNE, deterministic=False)
data = data.batch(64).prefetch(tf.data.AUTOTUNE)
tiers_epochs.serve(lambda: tiers_epochs.count_batches(data))
