#pragma once

#include "ops/vision/image.h"

namespace headrace::ops {

// The crop that RandomResizedCrop falls back to: the largest in the middle whose width / height is
// in [min_ratio, max_ratio]. Source: torchvision/transforms/transforms.py,
// RandomResizedCrop.get_params; timm's is the same. It may have no pixels.
[[nodiscard]] Window CentralCrop(const ImageSpec& in, double min_ratio, double max_ratio);

}  // namespace headrace::ops
