#include "ops/vision/tensor/elastic_field.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace headrace::ops {
namespace {

// torch.linspace((1 - side) / side, (side - 1) / side, side).
std::vector<float> Centers(std::int64_t side) {
  std::vector<float> centers(static_cast<std::size_t>(side));
  if (side == 1) return centers;
  const auto end = static_cast<float>(static_cast<double>(side - 1) / static_cast<double>(side));
  const float start = -end;
  const float step = (end - start) / static_cast<float>(side - 1);
  for (std::int64_t i = 0; i < side; ++i) {
    centers[static_cast<std::size_t>(i)] =
        i < side / 2 ? std::fma(step, static_cast<float>(i), start)
                     : std::fma(-step, static_cast<float>(side - i - 1), end);
  }
  return centers;
}

// torch.rand(...) * 2 - 1, which is exact.
void Fill(Mt19937& random, std::size_t count, float* out) {
  for (std::size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(random.Next() & 0xffffffU) * 0x1p-23F - 1.0F;
  }
}

float* Floats(ScratchBuffer& memory, std::size_t count) {
  auto* const floats = reinterpret_cast<float*>(memory.Ensure(count * sizeof(float)));
  std::fill(floats + count - GridField::kSlack, floats + count, 0.0F);
  return floats;
}

}  // namespace

Result<GridField> MakeElasticField(const ImageSpec& image, Mt19937 random,
                                   const ElasticAxis& across, const ElasticAxis& down,
                                   OpContext& context, PointwiseLevel level) {
  const std::int64_t height = image.height, width = image.width;
  const auto pixels = static_cast<std::size_t>(height * width);
  float* const drawn = Floats(context.scratch(2), pixels + GridField::kSlack);
  const auto displace = [&](const ElasticAxis& axis, std::int64_t side, float* out) -> Status {
    Fill(random, pixels, drawn);
    if (axis.weights.x.empty()) {
      std::memcpy(out, drawn, pixels * sizeof(float));
    } else {
      Image plane;
      plane.spec = {height, width, 1, DType::kF32, Layout::kHwc};
      plane.held = WholeOf(plane.spec);
      plane.data = reinterpret_cast<const std::uint8_t*>(drawn);
      plane.pixel_stride = sizeof(float);
      plane.row_stride = static_cast<std::size_t>(width) * sizeof(float);
      HR_RETURN_IF_ERROR(ConvolveFloats(plane, axis.weights, plane.held, context, out, level));
    }
    const auto alpha = static_cast<float>(axis.alpha), length = static_cast<float>(side);
    for (std::size_t i = 0; i < pixels; ++i) out[i] = out[i] * alpha / length;
    return {};
  };
  float* const x = Floats(context.scratch(3), pixels + GridField::kSlack);
  float* const y = Floats(context.scratch(4), pixels + GridField::kSlack);
  HR_RETURN_IF_ERROR(displace(across, width, x));
  HR_RETURN_IF_ERROR(displace(down, height, y));
  const std::vector<float> columns = Centers(width), rows = Centers(height);
  std::size_t at = 0;
  for (const float row : rows) {
    for (const float column : columns) {
      x[at] = column + x[at];
      y[at] = row + y[at];
      ++at;
    }
  }
  return GridField{x, y};
}

}  // namespace headrace::ops
