#include "ops/run/render_floats.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

#include "base/check.h"
#include "ops/core/byte_lookup.h"
#include "ops/core/element.h"
#include "ops/run/render.h"
#include "ops/vision/floats.h"

namespace headrace::ops {
namespace {

// An image of floats that lie one after the other in `memory`.
struct Frame {
  std::span<float> floats;
  std::size_t width = 0;  // pixels
  std::size_t step = 0;   // floats from pixel to pixel

  Frame(const ImageSpec& spec, ScratchBuffer& memory)
      : width(static_cast<std::size_t>(spec.width)),
        step(FloatPixelBytes(spec.channels) / sizeof(float)) {
    const std::size_t count = static_cast<std::size_t>(spec.height) * width * step;
    floats = {reinterpret_cast<float*>(memory.Ensure(count * sizeof(float))), count};
  }

  [[nodiscard]] Image AsImage(const ImageSpec& spec) const {
    Image image{reinterpret_cast<const std::uint8_t*>(floats.data()), width * step * sizeof(float),
                step * sizeof(float), spec, WholeOf(spec)};
    image.spec.layout = Layout::kHwc;
    return image;
  }
};

void Fill(const FoldedPass& fold, const Frame& frame) {
  for (const FoldedPass::Fill& fill : fold.fills()) {
    for (std::int64_t y = 0; y < fill.where.height; ++y) {
      const std::size_t first = static_cast<std::size_t>(fill.where.top + y) * frame.width +
                                static_cast<std::size_t>(fill.where.left);
      float* at = &frame.floats[first * frame.step];
      for (std::int64_t x = 0; x < fill.where.width; ++x, at += frame.step) {
        for (std::int32_t c = 0; c < fold.spec().channels; ++c) {
          at[c] = static_cast<float>(fill.value[static_cast<std::size_t>(c)]);
        }
      }
    }
  }
}

bool Moves(const FoldedPass& fold) {
  return fold.flips_horizontal() || fold.flips_vertical() || fold.SourceWindow() != fold.base();
}

bool Maps(const NodeRange& nodes) {
  for (int i = nodes.first; i < nodes.last; ++i) {
    if (nodes.chain->schema(i).maps()) return true;
  }
  return false;
}

void MapFloats(const NodeRange& nodes, int channel, std::span<float> values) {
  for (int i = nodes.first; i < nodes.last; ++i) {
    const OpSchema& schema = nodes.chain->schema(i);
    if (!schema.maps()) continue;
    if (const auto* fast = dynamic_cast<const FloatMap*>(&schema)) {
      fast->MapFloats(channel, values);
    } else {
      for (float& value : values) value = static_cast<float>(schema.Map(channel, value));
    }
  }
}

// Maps the channels of pixels that are `step` floats apart, many of one channel at a time.
void MapPixels(const NodeRange& nodes, int channels, std::size_t step, std::span<float> pixels) {
  std::array<float, 256> values;
  for (std::size_t begin = 0; begin < pixels.size(); begin += values.size() * step) {
    const std::size_t count = std::min(values.size(), (pixels.size() - begin) / step);
    for (int c = 0; c < channels; ++c) {
      float* const at = &pixels[begin + static_cast<std::size_t>(c)];
      for (std::size_t i = 0; i < count; ++i) values[i] = at[i * step];
      MapFloats(nodes, c, std::span(values).first(count));
      for (std::size_t i = 0; i < count; ++i) at[i * step] = values[i];
    }
  }
}

// Calls per_row(y, first column, pixels, source of the first, bytes from source to source) for each
// row of the pass's image that shows pixels of `in`.
template <typename PerRow>
void ForEachRow(const Image& in, const FoldedPass& fold, PerRow per_row) {
  const Window& base = fold.base();
  const Window inside = fold.SourceWindow();
  if (inside.width == 0) return;
  const bool mirrored = fold.flips_horizontal();
  const std::int64_t from_left = inside.left - base.left;
  const std::int64_t left = mirrored ? base.width - from_left - inside.width : from_left;
  const auto step = static_cast<std::ptrdiff_t>(in.pixel_stride);
  for (std::int64_t y = 0; y < inside.height; ++y) {
    const std::int64_t from_top = inside.top - base.top + y;
    const std::int64_t row = fold.flips_vertical() ? base.height - 1 - from_top : from_top;
    const std::uint8_t* from =
        in.At(inside.top + y, inside.left + (mirrored ? inside.width - 1 : 0));
    per_row(row, left, inside.width, from, mirrored ? -step : step);
  }
}

float FloatAt(const std::uint8_t* from) {
  float value = 0;
  std::memcpy(&value, from, sizeof(value));
  return value;
}

// One row of a channel as elements of another type than float32.
template <typename T>
void MapElements(const NodeRange& nodes, int channel, DType type, std::span<const float> values,
                 T* out) {
  for (const float value : values) {
    double mapped = value;
    for (int i = nodes.first; i < nodes.last; ++i) {
      mapped = nodes.chain->schema(i).Map(channel, mapped);
    }
    *out++ = ElementAs<T>(type, mapped);
  }
}

template <typename T>
void RenderPlanes(const Image& in, const FoldedPass& fold, const NodeRange& maps,
                  ScratchBuffer& scratch, MutableByteSpan out) {
  const ImageSpec& spec = fold.spec();
  const std::span elements(reinterpret_cast<T*>(out.data()), out.size() / sizeof(T));
  if (fold.SourceWindow() != fold.base()) std::ranges::fill(elements, T{});
  auto* const values = reinterpret_cast<float*>(
      scratch.Ensure(static_cast<std::size_t>(spec.width) * sizeof(float)));
  for (int c = 0; c < spec.channels; ++c) {
    ForEachRow(in, fold,
               [&](std::int64_t y, std::int64_t left, std::int64_t width, const std::uint8_t* from,
                   std::ptrdiff_t step) {
                 from += static_cast<std::size_t>(c) * sizeof(float);
                 for (std::int64_t x = 0; x < width; ++x, from += step) values[x] = FloatAt(from);
                 T* to =
                     &elements[static_cast<std::size_t>((c * spec.height + y) * spec.width + left)];
                 const std::span row(values, static_cast<std::size_t>(width));
                 if (spec.dtype == DType::kF32) {
                   MapFloats(maps, c, row);
                   std::memcpy(to, values, row.size_bytes());
                 } else {
                   MapElements(maps, c, spec.dtype, row, to);
                 }
               });
  }
  FillPlanes<T>(fold, elements);
}

}  // namespace

void RenderToFloats(const Image& in, const FoldedPass& fold, ByteSpan table, ScratchBuffer& scratch,
                    ScratchBuffer& memory, Image* out) {
  const ImageSpec& spec = fold.spec();
  const std::span entries(reinterpret_cast<const float*>(table.data()),
                          table.size() / sizeof(float));
  HR_CHECK(entries.size() == kByteValues * static_cast<std::size_t>(spec.channels));
  const Image bytes = RenderBytes(in, fold, scratch);
  const Frame frame(spec, memory);
  float* to = frame.floats.data();
  for (std::int64_t y = 0; y < spec.height; ++y) {
    const std::uint8_t* from = bytes.At(y, 0);
    for (std::int64_t x = 0; x < spec.width; ++x, from += bytes.pixel_stride, to += frame.step) {
      for (std::size_t c = 0; c < frame.step; ++c) {
        // The fourth float of a pixel has no meaning, but a value: sums of it are computed.
        const std::size_t channel = std::min(c, static_cast<std::size_t>(spec.channels) - 1);
        to[c] = entries[channel * kByteValues + from[channel]];
      }
    }
  }
  Fill(fold, frame);
  *out = frame.AsImage(spec);
}

void RenderFloats(const Image& in, const FoldedPass& fold, const NodeRange& maps,
                  ScratchBuffer& memory, Image* out) {
  const ImageSpec& spec = fold.spec();
  const bool mapped = Maps(maps);
  if (!mapped && !Moves(fold) && fold.fills().empty()) {
    *out = in.Part(fold.base());
    return;
  }
  const Frame frame(spec, memory);
  std::ranges::fill(frame.floats, 0.0F);
  ForEachRow(in, fold,
             [&](std::int64_t y, std::int64_t left, std::int64_t width, const std::uint8_t* from,
                 std::ptrdiff_t step) {
               float* to =
                   &frame.floats[static_cast<std::size_t>(y * spec.width + left) * frame.step];
               const std::span row(to, static_cast<std::size_t>(width) * frame.step);
               for (std::int64_t x = 0; x < width; ++x, from += step, to += frame.step) {
                 std::memcpy(to, from, frame.step * sizeof(float));
               }
               if (mapped) MapPixels(maps, spec.channels, frame.step, row);
             });
  Fill(fold, frame);
  *out = frame.AsImage(spec);
}

void RenderFloatOutput(const Image& in, const FoldedPass& fold, const NodeRange& maps,
                       ScratchBuffer& scratch, MutableByteSpan out) {
  const ImageSpec& spec = fold.spec();
  HR_CHECK(out.size() == spec.bytes() && spec.layout == Layout::kChw);
  switch (DTypeBytes(spec.dtype)) {
    case 2:
      return RenderPlanes<std::uint16_t>(in, fold, maps, scratch, out);
    case 4:
      return RenderPlanes<float>(in, fold, maps, scratch, out);
    default:
      return RenderPlanes<double>(in, fold, maps, scratch, out);
  }
}

}  // namespace headrace::ops
