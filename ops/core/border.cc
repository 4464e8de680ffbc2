#include "ops/core/border.h"

#include <algorithm>
#include <string>

namespace headrace::ops {

Status CheckBorder(std::int64_t side, std::int64_t before, std::int64_t after, PaddingMode mode) {
  const std::int64_t border = std::max(before, after);
  const bool longer = (mode == PaddingMode::kReflect && border >= side) ||
                      (mode == PaddingMode::kSymmetric && border > side);
  if (!longer || border == 0) return Status::Ok();
  return Unsupported("a border of " + std::to_string(border) + " reflects a side of " +
                     std::to_string(side) + " more than once");
}

std::int64_t BorderSource(std::int64_t i, std::int64_t side, PaddingMode mode) {
  if (i >= 0 && i < side) return i;
  switch (mode) {
    case PaddingMode::kReflect:
      return i < 0 ? -i : 2 * (side - 1) - i;
    case PaddingMode::kSymmetric:
      return i < 0 ? -i - 1 : 2 * side - 1 - i;
    case PaddingMode::kEdge:
    case PaddingMode::kConstant:
      break;
  }
  return i < 0 ? 0 : side - 1;
}

}  // namespace headrace::ops
