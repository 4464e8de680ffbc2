#pragma once

#include <cstdint>

#include "ops/vision/augment/augment_space.h"

// Augmentations as drawn values hold them.
namespace headrace::ops::testing {

inline constexpr auto kIdentity = static_cast<std::int32_t>(AugmentOp::kIdentity);
inline constexpr auto kInvert = static_cast<std::int32_t>(AugmentOp::kInvert);
inline constexpr auto kPosterize = static_cast<std::int32_t>(AugmentOp::kPosterize);
inline constexpr auto kRotate = static_cast<std::int32_t>(AugmentOp::kRotate);
inline constexpr auto kTranslateX = static_cast<std::int32_t>(AugmentOp::kTranslateX);

}  // namespace headrace::ops::testing
