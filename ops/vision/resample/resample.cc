#include "ops/vision/resample/resample.h"

#include <algorithm>
#include <charconv>
#include <cstring>

#include "ops/vision/floats.h"
#include "ops/vision/pil/expand_rgb.h"
#include "ops/vision/resample/resample_passes.h"
#include "ops/vision/resample/resample_plan.h"

namespace headrace::ops {
namespace {

const ResamplePasses& Passes(SimdLevel level) {
#if defined(__x86_64__)
  if (level == SimdLevel::kAvx512Vnni) return kAvx512VnniPasses;
  if (level == SimdLevel::kAvx2) return kAvx2Passes;
#endif
  return kScalarPasses;
}

const FloatPasses& FloatPassesOf(SimdLevel level) {
#if defined(__x86_64__)
  if (level != SimdLevel::kScalar && __builtin_cpu_supports("fma")) return kAvx2FloatPasses;
#endif
  return kScalarFloatPasses;
}

void CopyRows(ConstRows src, std::size_t row_bytes, std::int64_t rows, MutableRows dst) {
  for (std::int64_t y = 0; y < rows; ++y) {
    std::memcpy(dst.data + y * dst.stride, src.data + y * src.stride, row_bytes);
  }
}

bool IsFloats(const ResampleAxis& axis) { return HasFloatWeights(axis.spec.arithmetic); }

// Copies the pixels of a row at the given columns; 0 where a column is -1. It copies kIn bytes of a
// pixel; pixels of the result have kOut bytes.
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

// Turns four rows of single values into one row of pixels of four, so that the passes also work for
// gray images.
template <typename T>
void Interleave(ConstRows src, std::int64_t rows, std::size_t width, MutableRows dst) {
  for (std::int64_t y = 0; y < rows; ++y) {
    const T* in = reinterpret_cast<const T*>(src.data + y * src.stride);
    T* out = reinterpret_cast<T*>(dst.data + (y / 4) * dst.stride) + y % 4;
    for (std::size_t x = 0; x < width; ++x) out[x * 4] = in[x];
  }
}

template <typename T>
void Deinterleave(ConstRows src, std::int64_t rows, std::size_t width, MutableRows dst) {
  for (std::int64_t y = 0; y < rows; ++y) {
    const T* in = reinterpret_cast<const T*>(src.data + (y / 4) * src.stride) + y % 4;
    T* out = reinterpret_cast<T*>(dst.data + y * dst.stride);
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
  explicit State(SimdLevel simd_level) : level(simd_level), planner(simd_level) {}

  void Nearest(const ResizePlan& plan, const Image& in, MutableRows out) const;
  // Writes floats if it is a float pass and another pass follows.
  void Horizontal(const ResizePlan& plan, ConstRows src, std::int64_t rows, int pixel_bytes,
                  MutableRows dst);
  void Vertical(const ResizePlan& plan, ConstRows src, std::size_t row_values,
                MutableRows dst) const;
  void Filter(const ResizePlan& plan, ConstRows pixels, int pixel_bytes, MutableRows target);
  // Both passes of kFloats; `values`: floats of a pixel.
  void FilterFloats(const ResizePlan& plan, ConstRows pixels, int values, MutableRows target);
  [[nodiscard]] const ResamplePasses& PassesFor(const ResampleAxis& axis) const {
    return axis.fits_simd ? Passes(level) : kScalarPasses;
  }

  SimdLevel level;
  ResizePlanner planner;
  ScratchBuffer source, middle, interleaved_in, interleaved_out;
};

void Resampler::State::Nearest(const ResizePlan& plan, const Image& in, MutableRows out) const {
  const std::int32_t* const columns = &planner.nearest_x()[plan.out.left];
  for (std::int64_t y = 0; y < plan.out.height; ++y) {
    std::uint8_t* to = out.data + y * out.stride;
    const std::int32_t row = planner.nearest_y()[plan.out.top + y];
    if (row < 0) {
      std::memset(to, 0, out.stride);
      continue;
    }
    const std::uint8_t* from = in.data + (row - plan.in.top) * in.row_stride;
    if (in.spec.dtype == DType::kF32) {
      const auto pick = in.spec.channels == 1 ? PickRow<4, 4> : PickRow<16, 16>;
      pick(from, in.pixel_stride, columns, plan.in.left, plan.out.width, to);
    } else if (in.spec.channels == 1) {
      PickRow<1, 1>(from, in.pixel_stride, columns, plan.in.left, plan.out.width, to);
    } else if (in.pixel_stride == 4) {
      PickRow<4, 4>(from, in.pixel_stride, columns, plan.in.left, plan.out.width, to);
    } else {
      PickRow<3, 4>(from, in.pixel_stride, columns, plan.in.left, plan.out.width, to);
    }
  }
}

void Resampler::State::Horizontal(const ResizePlan& plan, ConstRows src, std::int64_t rows,
                                  int pixel_bytes, MutableRows dst) {
  const bool to_floats = IsFloats(*plan.x) && plan.y != nullptr;
  FloatPasses::Horizontal pass = PassesFor(*plan.x).horizontal;
  if (IsFloats(*plan.x)) {
    const FloatPasses& passes = FloatPassesOf(level);
    pass = to_floats ? passes.horizontal_to_floats : passes.horizontal_to_bytes;
  }
  const auto begin = static_cast<std::int32_t>(plan.out.left);
  const auto end = static_cast<std::int32_t>(plan.out.left + plan.out.width);
  const auto src_begin = static_cast<std::int32_t>(plan.in.left);
  if (pixel_bytes == 4) {
    pass(*plan.x, begin, end, src, src_begin, rows, dst);
    return;
  }
  const std::int64_t packs = (rows + 3) / 4;
  const auto in_width = static_cast<std::size_t>(plan.in.width);
  const auto out_width = static_cast<std::size_t>(plan.out.width);
  const std::size_t out_stride = out_width * 4 * (to_floats ? sizeof(float) : 1);
  const MutableRows four_in{interleaved_in.Ensure(packs * in_width * 4), in_width * 4};
  const MutableRows four_out{interleaved_out.Ensure(packs * out_stride), out_stride};
  Interleave<std::uint8_t>(src, rows, in_width, four_in);
  pass(*plan.x, begin, end, {four_in.data, four_in.stride}, src_begin, packs, four_out);
  const auto deinterleave = to_floats ? Deinterleave<float> : Deinterleave<std::uint8_t>;
  deinterleave({four_out.data, four_out.stride}, rows, out_width, dst);
}

void Resampler::State::Vertical(const ResizePlan& plan, ConstRows src, std::size_t row_values,
                                MutableRows dst) const {
  const auto begin = static_cast<std::int32_t>(plan.out.top);
  const auto end = static_cast<std::int32_t>(plan.out.top + plan.out.height);
  const auto src_begin = static_cast<std::int32_t>(plan.in.top);
  if (IsFloats(*plan.y)) {
    const FloatPasses& passes = FloatPassesOf(level);
    const auto pass = plan.x == nullptr ? passes.vertical_of_bytes : passes.vertical_of_floats;
    pass(*plan.y, begin, end, src, src_begin, row_values, dst);
    return;
  }
  PassesFor(*plan.y).vertical(*plan.y, begin, end, src, src_begin, plan.in.height, row_values, dst);
}

void Resampler::State::Filter(const ResizePlan& plan, ConstRows pixels, int pixel_bytes,
                              MutableRows target) {
  const std::size_t in_values = static_cast<std::size_t>(plan.in.width) * pixel_bytes;
  if (plan.x == nullptr) {
    Vertical(plan, pixels, in_values, target);
  } else if (plan.y == nullptr) {
    Horizontal(plan, pixels, plan.in.height, pixel_bytes, target);
  } else if (plan.vertical_first) {
    const MutableRows rows{middle.Ensure(in_values * plan.out.height), in_values};
    Vertical(plan, pixels, in_values, rows);
    Horizontal(plan, {rows.data, rows.stride}, plan.out.height, pixel_bytes, target);
  } else {
    constexpr std::size_t kPad = 32;  // floats, so that the next pass reads past no row
    std::size_t stride = target.stride;
    if (IsFloats(*plan.x)) stride = (stride + kPad - 1) / kPad * kPad * sizeof(float);
    const MutableRows rows{middle.Ensure(stride * plan.in.height), stride};
    Horizontal(plan, pixels, plan.in.height, pixel_bytes, rows);
    Vertical(plan, {rows.data, rows.stride}, target.stride, target);
  }
}

void Resampler::State::FilterFloats(const ResizePlan& plan, ConstRows pixels, int values,
                                    MutableRows target) {
  constexpr std::size_t kPad = 32;  // floats, so that the second pass reads past no row
  const FloatPasses& passes = FloatPassesOf(level);
  const auto in_width = static_cast<std::size_t>(plan.in.width);
  const auto out_width = static_cast<std::size_t>(plan.out.width);
  const auto first = static_cast<std::int32_t>(plan.out.left);
  const auto last = static_cast<std::int32_t>(plan.out.left + plan.out.width);
  const auto in_left = static_cast<std::int32_t>(plan.in.left);
  const std::size_t row_values = out_width * static_cast<std::size_t>(values);
  const std::size_t stride = (row_values + kPad - 1) / kPad * kPad * sizeof(float);
  const MutableRows rows{middle.Ensure(stride * static_cast<std::size_t>(plan.in.height)), stride};
  if (plan.x == nullptr) {
    CopyRows(pixels, row_values * sizeof(float), plan.in.height, rows);
  } else if (values == 4) {
    passes.horizontal_of_floats(*plan.x, first, last, pixels, in_left, plan.in.height, rows);
  } else {
    constexpr std::size_t kPixel = 4 * sizeof(float);
    const std::int64_t packs = (plan.in.height + 3) / 4;
    const auto count = static_cast<std::size_t>(packs);
    const MutableRows four_in{interleaved_in.Ensure(count * in_width * kPixel), in_width * kPixel};
    const MutableRows four_out{interleaved_out.Ensure(count * out_width * kPixel),
                               out_width * kPixel};
    Interleave<float>(pixels, plan.in.height, in_width, four_in);
    passes.horizontal_of_floats(*plan.x, first, last, {four_in.data, four_in.stride}, in_left,
                                packs, four_out);
    Deinterleave<float>({four_out.data, four_out.stride}, plan.in.height, out_width, rows);
  }
  if (plan.y == nullptr) {
    CopyRows({rows.data, rows.stride}, row_values * sizeof(float), plan.in.height, target);
    return;
  }
  passes.vertical_to_floats(*plan.y, static_cast<std::int32_t>(plan.out.top),
                            static_cast<std::int32_t>(plan.out.top + plan.out.height),
                            {rows.data, rows.stride}, static_cast<std::int32_t>(plan.in.top),
                            row_values, target);
}

Resampler::Resampler(SimdLevel level) : state_(std::make_unique<State>(level)) {}
Resampler::~Resampler() = default;

Result<Window> Resampler::InputWindow(const ResizeSpec& spec,
                                      const std::optional<Window>& out_window) {
  HR_TRY(const ResizePlan plan, state_->planner.Prepare(spec, out_window));
  return plan.in;
}

Status Resampler::Resize(const ResizeSpec& spec, const Image& in,
                         const std::optional<Window>& in_window,
                         const std::optional<Window>& out_window, ScratchBuffer& memory,
                         Image* out) {
  HR_TRY(const ResizePlan plan, state_->planner.Prepare(spec, out_window));
  const Window have = in_window.value_or(Window{0, 0, spec.in_height, spec.in_width});
  const int channels = in.spec.channels;
  const bool floats = spec.arithmetic == ResizeArithmetic::kFloats;
  const int values = channels == 1 ? 1 : 4;  // of a pixel, of the result too
  const std::size_t least = floats ? FloatPixelBytes(channels) : static_cast<std::size_t>(channels);
  if (in.spec.dtype != (floats ? DType::kF32 : DType::kU8) || in.spec.layout != Layout::kHwc ||
      (channels != 1 && channels != 3) || in.spec.width != have.width ||
      in.spec.height != have.height || in.pixel_stride < least) {
    return InvalidArgument("resize: not an image of the announced size and type");
  }
  if (!IsInside(plan.in, have)) {
    return InvalidArgument("resize: the input window lacks pixels that are needed");
  }
  // Narrows the source to what is read.
  Image source = in;
  source.spec.width = plan.in.width;
  source.spec.height = plan.in.height;
  source.data +=
      (plan.in.top - have.top) * in.row_stride + (plan.in.left - have.left) * in.pixel_stride;

  const int pixel_bytes = values * static_cast<int>(floats ? sizeof(float) : 1);
  const std::size_t out_stride = static_cast<std::size_t>(plan.out.width) * pixel_bytes;
  const MutableRows target{memory.Ensure(out_stride * plan.out.height), out_stride};
  out->data = target.data;
  out->row_stride = out_stride;
  out->pixel_stride = pixel_bytes;
  out->spec = in.spec;
  out->spec.width = plan.out.width;
  out->spec.height = plan.out.height;
  out->held = Window{0, 0, plan.out.height, plan.out.width};

  if (plan.kind == ResizePlan::Kind::kNearest) {
    state_->Nearest(plan, source, target);
    return Status::Ok();
  }
  if (floats && plan.kind == ResizePlan::Kind::kCopy) {
    CopyRows({source.data, source.row_stride}, target.stride, plan.out.height, target);
    return Status::Ok();
  }
  if (floats) {
    state_->FilterFloats(plan, {source.data, source.row_stride}, values, target);
    return Status::Ok();
  }
  if (plan.kind == ResizePlan::Kind::kCopy) {
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
  state_->Filter(plan, {source.data, source.row_stride}, pixel_bytes, target);
  return Status::Ok();
}

}  // namespace headrace::ops
