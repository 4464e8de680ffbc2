#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "ops/vision/resample/resample_axis.h"

namespace headrace::ops {

// The parts of one resize.
struct ResizePlan {
  enum class Kind : std::uint8_t { kCopy, kNearest, kFilter };
  Kind kind = Kind::kFilter;
  const ResampleAxis* x = nullptr;  // absent: no horizontal pass
  const ResampleAxis* y = nullptr;  // absent: no vertical pass
  bool vertical_first = false;
  Window in;   // what is read
  Window out;  // what is made
};

// Makes plans, and keeps the axes of recent sizes. Not thread-safe.
class ResizePlanner {
 public:
  explicit ResizePlanner(SimdLevel level) : level_(level) {}

  // The plan's axes stay valid until two more axes have been requested. Errors as
  // Resampler::InputWindow.
  Result<ResizePlan> Prepare(const ResizeSpec& spec, const std::optional<Window>& out_window);

  // Input position of each output column and row in the last nearest plan; -1 for none.
  [[nodiscard]] const std::vector<std::int32_t>& nearest_x() const { return nearest_x_; }
  [[nodiscard]] const std::vector<std::int32_t>& nearest_y() const { return nearest_y_; }

 private:
  struct CachedAxis {
    ResampleAxis axis;
    std::uint64_t used = 0;
  };

  const ResampleAxis& Axis(const AxisSpec& spec);
  void MakeNearest(const ResizeSpec& spec, const Box& box);

  SimdLevel level_;
  std::vector<CachedAxis> axes_;
  std::uint64_t uses_ = 0;
  std::vector<std::int32_t> nearest_x_, nearest_y_;
};

// True if `inner` has pixels and lies in `outer`.
[[nodiscard]] bool IsInside(const Window& inner, const Window& outer);

}  // namespace headrace::ops
