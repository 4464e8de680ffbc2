#include "ops/image/resample.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <vector>

#include "ops/image/expand_rgb.h"
#include "ops/image/resample_axis.h"
#include "ops/image/resample_passes.h"

namespace headrace::ops {
namespace {

// Far above PIL's image limit in one dimension; keeps every product in range.
constexpr std::int64_t kMaxSize = 1 << 24;
constexpr int kCachedAxes = 16;

const ResamplePasses& Passes(SimdLevel level) {
#if defined(__x86_64__)
  if (level == SimdLevel::kAvx512Vnni) return kAvx512VnniPasses;
  if (level == SimdLevel::kAvx2) return kAvx2Passes;
#endif
  return kScalarPasses;
}

bool IsInside(const Window& inner, const Window& outer) {
  return inner.width > 0 && inner.height > 0 && inner.left >= outer.left &&
         inner.top >= outer.top && inner.left + inner.width <= outer.left + outer.width &&
         inner.top + inner.height <= outer.top + outer.height;
}

Status CheckSpec(const ResizeSpec& spec) {
  for (const std::int64_t size : {spec.in_width, spec.in_height, spec.out_width, spec.out_height}) {
    if (size < 1) return InvalidArgument("height and width must be > 0");
    if (size > kMaxSize) return Unsupported("resize: image too large");
  }
  if (!spec.box) return Status::Ok();
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

// Input position of each output of nearest-neighbour scaling, -1 for none. Positions are summed up,
// as ImagingScaleAffine does: the rounding errors are part of the result.
void NearestPositions(float begin, float end, std::int64_t in_size, std::int64_t out_size,
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

bool IsVerticalFirst(const ResizeSpec& spec) {
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
  used.begin = std::min<std::int64_t>(used.begin, axis.in_size - 1);
  used.end = std::max(used.end, used.begin + 1);
  return used;
}

// Pixels of a row at the given columns, 0 where a column is -1; kIn bytes of a pixel are copied,
// pixels of the result are kOut bytes.
template <int kIn, int kOut>
void PickRow(const std::uint8_t* row, std::size_t step, const std::int32_t* columns,
             std::int64_t first_column, std::int64_t width, std::uint8_t* out) {
  for (std::int64_t x = 0; x < width; ++x, out += kOut) {
    if (columns[x] < 0) {
      std::memset(out, 0, kIn);
    } else {
      std::memcpy(out, row + (columns[x] - first_column) * step, kIn);
    }
  }
}

// Four rows of single bytes side by side as one row of 4-byte pixels, so that the passes for pixels
// serve gray images too.
void Interleave(ConstRows src, std::int64_t rows, std::size_t width, MutableRows dst) {
  for (std::int64_t y = 0; y < rows; ++y) {
    const std::uint8_t* in = src.data + y * src.stride;
    std::uint8_t* out = dst.data + (y / 4) * dst.stride + y % 4;
    for (std::size_t x = 0; x < width; ++x) out[x * 4] = in[x];
  }
}

void Deinterleave(ConstRows src, std::int64_t rows, std::size_t width, MutableRows dst) {
  for (std::int64_t y = 0; y < rows; ++y) {
    const std::uint8_t* in = src.data + (y / 4) * src.stride + y % 4;
    std::uint8_t* out = dst.data + y * dst.stride;
    for (std::size_t x = 0; x < width; ++x) out[x] = in[x * 4];
  }
}

}  // namespace

SimdLevel DetectSimdLevel() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni") && __builtin_cpu_supports("avx512bw") &&
      __builtin_cpu_supports("avx512vl")) {
    return SimdLevel::kAvx512Vnni;
  }
  if (__builtin_cpu_supports("avx2")) return SimdLevel::kAvx2;
#endif
  return SimdLevel::kScalar;
}

PassOrder PassOrderOfPillow(std::string_view version) {
  const char* const end = version.data() + version.size();
  int major = 0, minor = 0;
  const char* const dot = std::from_chars(version.data(), end, major).ptr;
  if (dot != end) std::from_chars(dot + 1, end, minor);
  if (major >= 13) return PassOrder::kAdaptive;
  return major == 12 && minor >= 2 ? PassOrder::kTallVerticalFirst : PassOrder::kHorizontalFirst;
}

struct Resampler::State {
  // What a resize consists of. Axis pointers stay valid until two more axes have been asked for.
  struct Plan {
    enum class Kind : std::uint8_t { kCopy, kNearest, kFilter };
    Kind kind = Kind::kFilter;
    const ResampleAxis* x = nullptr;  // absent: no horizontal pass
    const ResampleAxis* y = nullptr;  // absent: no vertical pass
    bool vertical_first = false;
    Window in;   // what is read
    Window out;  // what is made
  };
  struct CachedAxis {
    ResampleAxis axis;
    std::uint64_t used = 0;
  };

  explicit State(SimdLevel simd_level) : level(simd_level) {}

  const ResampleAxis& Axis(std::int64_t in_size, float begin, float end, std::int64_t out_size,
                           Filter filter);
  Result<Plan> Prepare(const ResizeSpec& spec, const std::optional<Window>& out_window);
  void Nearest(const Plan& plan, const Image& in, MutableRows out) const;
  void Horizontal(const Plan& plan, ConstRows src, std::int64_t rows, int pixel_bytes,
                  MutableRows dst);
  void Vertical(const Plan& plan, ConstRows src, std::size_t row_bytes, MutableRows dst) const;
  [[nodiscard]] const ResamplePasses& PassesFor(const ResampleAxis& axis) const {
    return axis.fits_simd ? Passes(level) : kScalarPasses;
  }

  SimdLevel level;
  std::vector<CachedAxis> axes;
  std::uint64_t uses = 0;
  std::vector<std::int32_t> nearest_x, nearest_y;
  ScratchBuffer source, middle, interleaved_in, interleaved_out;
};

const ResampleAxis& Resampler::State::Axis(std::int64_t in_size, float begin, float end,
                                           std::int64_t out_size, Filter filter) {
  ++uses;
  for (CachedAxis& cached : axes) {
    const ResampleAxis& axis = cached.axis;
    if (axis.in_size == in_size && axis.out_size == out_size && axis.in_begin == begin &&
        axis.in_end == end && axis.filter == filter) {
      cached.used = uses;
      return axis;
    }
  }
  if (axes.capacity() == 0) axes.reserve(kCachedAxes);  // axes never move
  if (axes.size() < kCachedAxes) axes.emplace_back();
  CachedAxis& slot =
      *std::min_element(axes.begin(), axes.end(),
                        [](const CachedAxis& a, const CachedAxis& b) { return a.used < b.used; });
  slot.used = uses;
  slot.axis.Make(static_cast<std::int32_t>(in_size), begin, end,
                 static_cast<std::int32_t>(out_size), filter, level);
  return slot.axis;
}

Result<Resampler::State::Plan> Resampler::State::Prepare(const ResizeSpec& spec,
                                                         const std::optional<Window>& out_window) {
  HR_RETURN_IF_ERROR(CheckSpec(spec));
  const Window whole_out{0, 0, spec.out_height, spec.out_width};
  Plan plan;
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
    plan.kind = Plan::Kind::kCopy;
    const auto left = static_cast<std::int64_t>(box.left);
    const auto top = static_cast<std::int64_t>(box.top);
    in_x = {out_x.begin + left, out_x.end + left};
    in_y = {out_y.begin + top, out_y.end + top};
  } else if (spec.filter == Filter::kNearest) {
    plan.kind = Plan::Kind::kNearest;
    NearestPositions(box.left, box.right, spec.in_width, spec.out_width, nearest_x);
    NearestPositions(box.top, box.bottom, spec.in_height, spec.out_height, nearest_y);
    in_x = UsedRange(nearest_x, out_x.begin, out_x.end);
    in_y = UsedRange(nearest_y, out_y.begin, out_y.end);
  } else {
    plan.kind = Plan::Kind::kFilter;
    if (spec.out_width != spec.in_width || box.left != 0 ||
        box.right != static_cast<float>(spec.out_width)) {
      plan.x = &Axis(spec.in_width, box.left, box.right, spec.out_width, spec.filter);
      in_x = UsedRange(*plan.x, out_x.begin, out_x.end);
    }
    if (spec.out_height != spec.in_height || box.top != 0 ||
        box.bottom != static_cast<float>(spec.out_height)) {
      plan.y = &Axis(spec.in_height, box.top, box.bottom, spec.out_height, spec.filter);
      in_y = UsedRange(*plan.y, out_y.begin, out_y.end);
    }
    plan.vertical_first = IsVerticalFirst(spec);
  }
  plan.in = {in_y.begin, in_x.begin, in_y.end - in_y.begin, in_x.end - in_x.begin};
  return plan;
}

void Resampler::State::Nearest(const Plan& plan, const Image& in, MutableRows out) const {
  const std::int32_t* const columns = &nearest_x[plan.out.left];
  for (std::int64_t y = 0; y < plan.out.height; ++y) {
    std::uint8_t* to = out.data + y * out.stride;
    const std::int32_t row = nearest_y[plan.out.top + y];
    if (row < 0) {
      std::memset(to, 0, out.stride);
      continue;
    }
    const std::uint8_t* from = in.data + (row - plan.in.top) * in.row_stride;
    if (in.spec.channels == 1) {
      PickRow<1, 1>(from, in.pixel_stride, columns, plan.in.left, plan.out.width, to);
    } else if (in.pixel_stride == 4) {
      PickRow<4, 4>(from, in.pixel_stride, columns, plan.in.left, plan.out.width, to);
    } else {
      PickRow<3, 4>(from, in.pixel_stride, columns, plan.in.left, plan.out.width, to);
    }
  }
}

void Resampler::State::Horizontal(const Plan& plan, ConstRows src, std::int64_t rows,
                                  int pixel_bytes, MutableRows dst) {
  const ResamplePasses& passes = PassesFor(*plan.x);
  const auto begin = static_cast<std::int32_t>(plan.out.left);
  const auto end = static_cast<std::int32_t>(plan.out.left + plan.out.width);
  const auto src_begin = static_cast<std::int32_t>(plan.in.left);
  if (pixel_bytes == 4) {
    passes.horizontal(*plan.x, begin, end, src, src_begin, rows, dst);
    return;
  }
  const std::int64_t packs = (rows + 3) / 4;
  const auto in_width = static_cast<std::size_t>(plan.in.width);
  const auto out_width = static_cast<std::size_t>(plan.out.width);
  const MutableRows four_in{interleaved_in.Ensure(packs * in_width * 4), in_width * 4};
  const MutableRows four_out{interleaved_out.Ensure(packs * out_width * 4), out_width * 4};
  Interleave(src, rows, in_width, four_in);
  passes.horizontal(*plan.x, begin, end, {four_in.data, four_in.stride}, src_begin, packs,
                    four_out);
  Deinterleave({four_out.data, four_out.stride}, rows, out_width, dst);
}

void Resampler::State::Vertical(const Plan& plan, ConstRows src, std::size_t row_bytes,
                                MutableRows dst) const {
  PassesFor(*plan.y).vertical(*plan.y, static_cast<std::int32_t>(plan.out.top),
                              static_cast<std::int32_t>(plan.out.top + plan.out.height), src,
                              static_cast<std::int32_t>(plan.in.top), plan.in.height, row_bytes,
                              dst);
}

Resampler::Resampler(SimdLevel level) : state_(std::make_unique<State>(level)) {}
Resampler::~Resampler() = default;

Result<Window> Resampler::InputWindow(const ResizeSpec& spec,
                                      const std::optional<Window>& out_window) {
  HR_TRY(const State::Plan plan, state_->Prepare(spec, out_window));
  return plan.in;
}

Status Resampler::Resize(const ResizeSpec& spec, const Image& in,
                         const std::optional<Window>& in_window,
                         const std::optional<Window>& out_window, ScratchBuffer& memory,
                         Image* out) {
  HR_TRY(const State::Plan plan, state_->Prepare(spec, out_window));
  const Window have = in_window.value_or(Window{0, 0, spec.in_height, spec.in_width});
  const int channels = in.spec.channels;
  if (in.spec.dtype != DType::kU8 || in.spec.layout != Layout::kHwc ||
      (channels != 1 && channels != 3) || in.spec.width != have.width ||
      in.spec.height != have.height || in.pixel_stride < static_cast<std::size_t>(channels)) {
    return InvalidArgument("resize: not an 8-bit image of the announced size");
  }
  if (!IsInside(plan.in, have)) {
    return InvalidArgument("resize: the input window lacks pixels that are needed");
  }
  // Only what is read.
  Image source = in;
  source.spec.width = plan.in.width;
  source.spec.height = plan.in.height;
  source.data +=
      (plan.in.top - have.top) * in.row_stride + (plan.in.left - have.left) * in.pixel_stride;

  const int pixel_bytes = channels == 1 ? 1 : 4;
  const std::size_t out_stride = static_cast<std::size_t>(plan.out.width) * pixel_bytes;
  const MutableRows target{memory.Ensure(out_stride * plan.out.height), out_stride};
  out->data = target.data;
  out->row_stride = out_stride;
  out->pixel_stride = pixel_bytes;
  out->spec = in.spec;
  out->spec.width = plan.out.width;
  out->spec.height = plan.out.height;
  out->held = Window{0, 0, plan.out.height, plan.out.width};

  if (plan.kind == State::Plan::Kind::kNearest) {
    state_->Nearest(plan, source, target);
    return Status::Ok();
  }
  if (plan.kind == State::Plan::Kind::kCopy) {
    CopyPixels(source, target.data, target.stride);
    return Status::Ok();
  }
  const std::size_t in_stride = static_cast<std::size_t>(plan.in.width) * pixel_bytes;
  if (in.pixel_stride != 4 || channels == 1) {
    std::uint8_t* pixels = state_->source.Ensure(in_stride * plan.in.height);
    CopyPixels(source, pixels, in_stride);
    source.data = pixels;
    source.row_stride = in_stride;
  }
  const ConstRows pixels{source.data, source.row_stride};
  if (plan.x == nullptr) {
    state_->Vertical(plan, pixels, in_stride, target);
  } else if (plan.y == nullptr) {
    state_->Horizontal(plan, pixels, plan.in.height, pixel_bytes, target);
  } else if (plan.vertical_first) {
    const MutableRows middle{state_->middle.Ensure(in_stride * plan.out.height), in_stride};
    state_->Vertical(plan, pixels, in_stride, middle);
    state_->Horizontal(plan, {middle.data, middle.stride}, plan.out.height, pixel_bytes, target);
  } else {
    const MutableRows middle{state_->middle.Ensure(out_stride * plan.in.height), out_stride};
    state_->Horizontal(plan, pixels, plan.in.height, pixel_bytes, middle);
    state_->Vertical(plan, {middle.data, middle.stride}, out_stride, target);
  }
  return Status::Ok();
}

}  // namespace headrace::ops
