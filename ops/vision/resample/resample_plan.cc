#include "ops/vision/resample/resample_plan.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"

namespace headrace::ops {
namespace {

// Far above PIL's image limit in one dimension; keeps every product in range.
constexpr std::int64_t kMaxSize = 1 << 24;
constexpr int kCachedAxes = 16;

Status CheckSpec(const ResizeSpec& spec) {
  for (const std::int64_t size : {spec.in_width, spec.in_height, spec.out_width, spec.out_height}) {
    if (size < 1) return InvalidArgument("height and width must be > 0");
    if (size > kMaxSize) return Unsupported("resize: image too large");
  }
  if (!spec.box) return Status::Ok();
  HR_CHECK(spec.arithmetic == ResizeArithmetic::kPillow);
  const Box& box = *spec.box;
  if (!std::isfinite(box.left + box.top + box.right + box.bottom)) {
    return InvalidArgument("box is not finite");
  }
  if (box.left < 0 || box.top < 0) return InvalidArgument("box offset can't be negative");
  if (box.right > static_cast<float>(spec.in_width) ||
      box.bottom > static_cast<float>(spec.in_height)) {
    return InvalidArgument("box can't exceed original image size");
  }
  if (box.right - box.left < 0 || box.bottom - box.top < 0) {
    return InvalidArgument("box can't be empty");
  }
  return Status::Ok();
}

bool IsWhole(float begin, float size, std::int64_t out_size) {
  return begin - std::trunc(begin) == 0 && size == static_cast<float>(out_size);
}

// Input position of each output of Pillow's nearest-neighbour scaling, -1 for none. It adds them up
// step by step, as ImagingScaleAffine does: the rounding errors are part of the result.
void PillowPositions(float begin, float end, std::int64_t in_size, std::int64_t out_size,
                     std::vector<std::int32_t>& positions) {
  const double step = static_cast<double>(end - begin) / static_cast<double>(out_size);
  double at = begin + step * 0.5;
  positions.resize(out_size);
  for (std::int32_t& position : positions) {
    const std::int32_t in = at < 0.0 ? -1 : static_cast<std::int32_t>(at);
    position = in < in_size ? in : -1;
    at += step;
  }
}

// The same for torch, in float32. The size of the output decides where torch computes exact
// positions. Source: UpSample.h and UpSampleKernel.cpp, whose compiler fused what it could.
void TorchPositions(const ResizeSpec& spec, std::int64_t in_size, std::int64_t out_size,
                    std::vector<std::int32_t>& positions) {
  constexpr std::int64_t kSmall = 128;  // height and width together
  const bool small = spec.out_height + spec.out_width <= kSmall;
  const float scale = static_cast<float>(in_size) / static_cast<float>(out_size);
  const auto last = static_cast<float>(in_size - 1);
  positions.resize(static_cast<std::size_t>(out_size));
  for (std::int64_t i = 0; i < out_size; ++i) {
    const auto index = static_cast<float>(i);
    float at = index * scale;
    if (spec.filter == Filter::kNearestExact && small) {
      at = static_cast<float>((static_cast<double>(i) + 0.5) * scale);
    } else if (spec.filter == Filter::kNearestExact) {
      const float source = std::max(std::fma(scale, index + 0.5F, -0.5F), 0.0F);
      at = static_cast<float>(source + 0.5);
    }
    positions[static_cast<std::size_t>(i)] =
        static_cast<std::int32_t>(std::min(std::floor(at), last));
  }
}

bool IsVerticalFirst(const ResizeSpec& spec) {
  if (spec.arithmetic != ResizeArithmetic::kPillow) return false;
  const std::int64_t rows_less = spec.in_height - spec.out_height;
  switch (spec.order) {
    case PassOrder::kHorizontalFirst:
      return false;
    case PassOrder::kAdaptive:  // Source: Pillow 13 Resample.c, ImagingResampleInner
      return rows_less > 0 && rows_less > (spec.in_width - spec.out_width) * 2;
    case PassOrder::kTallVerticalFirst:  // Source: Pillow 12.2 Image.py, Image.resize
      return rows_less > 0 && spec.in_height > spec.in_width * 100;
  }
  return false;
}

struct Range {
  std::int64_t begin = 0, end = 0;
};

Range UsedRange(const std::vector<std::int32_t>& positions, std::int64_t begin, std::int64_t end) {
  Range used{-1, -1};
  for (std::int64_t i = begin; i < end; ++i) {
    if (positions[i] < 0) continue;
    if (used.begin < 0 || positions[i] < used.begin) used.begin = positions[i];
    used.end = std::max<std::int64_t>(used.end, positions[i] + 1);
  }
  return used.begin < 0 ? Range{0, 1} : used;
}

Range UsedRange(const ResampleAxis& axis, std::int64_t begin, std::int64_t end) {
  const auto from = static_cast<std::int32_t>(begin);
  const auto to = static_cast<std::int32_t>(end);
  Range used{axis.InputBegin(from, to), axis.InputEnd(from, to)};
  used.begin = std::min<std::int64_t>(used.begin, axis.spec.in_size - 1);
  used.end = std::max(used.end, used.begin + 1);
  return used;
}

}  // namespace

bool IsInside(const Window& inner, const Window& outer) {
  return inner.width > 0 && inner.height > 0 && inner.left >= outer.left &&
         inner.top >= outer.top && inner.left + inner.width <= outer.left + outer.width &&
         inner.top + inner.height <= outer.top + outer.height;
}

const ResampleAxis& ResizePlanner::Axis(const AxisSpec& spec) {
  ++uses_;
  for (CachedAxis& cached : axes_) {
    if (cached.axis.spec == spec) {
      cached.used = uses_;
      return cached.axis;
    }
  }
  if (axes_.capacity() == 0) axes_.reserve(kCachedAxes);  // axes never move
  if (axes_.size() < kCachedAxes) axes_.emplace_back();
  CachedAxis& slot =
      *std::min_element(axes_.begin(), axes_.end(),
                        [](const CachedAxis& a, const CachedAxis& b) { return a.used < b.used; });
  slot.used = uses_;
  slot.axis.Make(spec, level_);
  return slot.axis;
}

void ResizePlanner::MakeNearest(const ResizeSpec& spec, const Box& box) {
  if (spec.arithmetic == ResizeArithmetic::kPillow) {
    PillowPositions(box.left, box.right, spec.in_width, spec.out_width, nearest_x_);
    PillowPositions(box.top, box.bottom, spec.in_height, spec.out_height, nearest_y_);
  } else {
    TorchPositions(spec, spec.in_width, spec.out_width, nearest_x_);
    TorchPositions(spec, spec.in_height, spec.out_height, nearest_y_);
  }
}

Result<ResizePlan> ResizePlanner::Prepare(const ResizeSpec& spec,
                                          const std::optional<Window>& out_window) {
  HR_RETURN_IF_ERROR(CheckSpec(spec));
  const Window whole_out{0, 0, spec.out_height, spec.out_width};
  ResizePlan plan;
  plan.out = out_window.value_or(whole_out);
  if (!IsInside(plan.out, whole_out)) {
    return InvalidArgument("resize: the output window is not inside the output");
  }
  const Box box = spec.box.value_or(
      Box{0, 0, static_cast<float>(spec.in_width), static_cast<float>(spec.in_height)});
  const Range out_x{plan.out.left, plan.out.left + plan.out.width};
  const Range out_y{plan.out.top, plan.out.top + plan.out.height};
  Range in_x = out_x;
  Range in_y = out_y;
  if (IsWhole(box.left, box.right - box.left, spec.out_width) &&
      IsWhole(box.top, box.bottom - box.top, spec.out_height)) {
    plan.kind = ResizePlan::Kind::kCopy;
    const auto left = static_cast<std::int64_t>(box.left);
    const auto top = static_cast<std::int64_t>(box.top);
    in_x = {out_x.begin + left, out_x.end + left};
    in_y = {out_y.begin + top, out_y.end + top};
  } else if (spec.filter == Filter::kNearest || spec.filter == Filter::kNearestExact) {
    plan.kind = ResizePlan::Kind::kNearest;
    MakeNearest(spec, box);
    in_x = UsedRange(nearest_x_, out_x.begin, out_x.end);
    in_y = UsedRange(nearest_y_, out_y.begin, out_y.end);
  } else {
    plan.kind = ResizePlan::Kind::kFilter;
    const auto axis = [&](std::int64_t in_size, float begin, float end,
                          std::int64_t out_size) -> const ResampleAxis& {
      return Axis({static_cast<std::int32_t>(in_size), static_cast<std::int32_t>(out_size), begin,
                   end, spec.filter, spec.arithmetic, spec.antialias});
    };
    // torch makes no pass along a side that keeps its length. A pass of floats would make 0 of -0,
    // and NaN beside infinities.
    const bool floats = spec.arithmetic == ResizeArithmetic::kFloats;
    if (floats && IsWhole(box.left, box.right - box.left, spec.out_width)) {
      const auto left = static_cast<std::int64_t>(box.left);
      in_x = {out_x.begin + left, out_x.end + left};
    } else if (spec.out_width != spec.in_width || box.left != 0 ||
               box.right != static_cast<float>(spec.out_width)) {
      plan.x = &axis(spec.in_width, box.left, box.right, spec.out_width);
      in_x = UsedRange(*plan.x, out_x.begin, out_x.end);
    }
    if (floats && IsWhole(box.top, box.bottom - box.top, spec.out_height)) {
      const auto top = static_cast<std::int64_t>(box.top);
      in_y = {out_y.begin + top, out_y.end + top};
    } else if (spec.out_height != spec.in_height || box.top != 0 ||
               box.bottom != static_cast<float>(spec.out_height)) {
      plan.y = &axis(spec.in_height, box.top, box.bottom, spec.out_height);
      in_y = UsedRange(*plan.y, out_y.begin, out_y.end);
    }
    plan.vertical_first = IsVerticalFirst(spec);
  }
  plan.in = {in_y.begin, in_x.begin, in_y.end - in_y.begin, in_x.end - in_x.begin};
  return plan;
}

}  // namespace headrace::ops
