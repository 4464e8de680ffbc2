#include "ops/run/render.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"
#include "ops/vision/tensor/pointwise.h"

namespace headrace::ops {
namespace {

Flip FlipOf(const FoldedPass& fold) { return {fold.flips_horizontal(), fold.flips_vertical()}; }

std::span<std::uint8_t> U8(MutableByteSpan bytes) {
  return {reinterpret_cast<std::uint8_t*>(bytes.data()), bytes.size()};
}

// Makes the packed frame without fills: the source's pixels where it has any, and zeros elsewhere.
void AssembleFrame(const Image& in, const FoldedPass& fold, std::span<std::uint8_t> frame) {
  const Window& base = fold.base();
  const Window inside = fold.SourceWindow();
  if (inside == base) {
    ToPacked(in.Part(inside), FlipOf(fold), frame);
    return;
  }
  std::ranges::fill(frame, std::uint8_t{0});
  const auto channels = static_cast<std::size_t>(in.spec.channels);
  const std::size_t row_bytes = static_cast<std::size_t>(base.width) * channels;
  for (std::int64_t y = 0; y < inside.height; ++y) {
    const std::int64_t from_top = inside.top - base.top + y;
    const std::int64_t row = fold.flips_vertical() ? base.height - 1 - from_top : from_top;
    const std::int64_t from_left = inside.left - base.left;
    std::uint8_t* to = frame.data() + static_cast<std::size_t>(row) * row_bytes;
    const std::uint8_t* from = in.At(inside.top + y, inside.left);
    for (std::int64_t x = 0; x < inside.width; ++x, from += in.pixel_stride) {
      const std::int64_t column =
          fold.flips_horizontal() ? base.width - 1 - from_left - x : from_left + x;
      std::memcpy(to + static_cast<std::size_t>(column) * channels, from, channels);
    }
  }
}

template <typename T>
void FillPacked(const FoldedPass& fold, std::span<T> frame) {
  const DType dtype = fold.spec().dtype;
  const auto channels = static_cast<std::size_t>(fold.spec().channels);
  const auto width = static_cast<std::size_t>(fold.spec().width);
  for (const FoldedPass::Fill& fill : fold.fills()) {
    for (std::int64_t y = 0; y < fill.where.height; ++y) {
      const std::size_t row = static_cast<std::size_t>(fill.where.top + y) * width;
      T* at = frame.data() + (row + static_cast<std::size_t>(fill.where.left)) * channels;
      for (std::int64_t x = 0; x < fill.where.width; ++x) {
        for (std::size_t c = 0; c < channels; ++c) *at++ = ElementAs<T>(dtype, fill.value[c]);
      }
    }
  }
}

template <typename T>
void RenderPlanes(const Image& view, Flip flip, const FoldedPass& fold, ByteSpan table,
                  MutableByteSpan out) {
  const std::span elements(reinterpret_cast<T*>(out.data()), out.size() / sizeof(T));
  TableToChw<T>(view, flip, {reinterpret_cast<const T*>(table.data()), table.size() / sizeof(T)},
                elements);
  FillPlanes<T>(fold, elements);
}

// The elements of `frame`, which is packed, by the table of their channel.
template <typename T>
void RenderPacked(std::span<const std::uint8_t> frame, const FoldedPass& fold, ByteSpan table,
                  MutableByteSpan out) {
  const std::span elements(reinterpret_cast<T*>(out.data()), out.size() / sizeof(T));
  const auto* values = reinterpret_cast<const T*>(table.data());
  const auto channels = static_cast<std::size_t>(fold.spec().channels);
  for (std::size_t i = 0; i < elements.size(); i += channels) {
    for (std::size_t c = 0; c < channels; ++c) elements[i + c] = values[c * 256 + frame[i + c]];
  }
  FillPacked<T>(fold, elements);
}

std::size_t PackedBytes(const ImageSpec& spec) {
  return static_cast<std::size_t>(spec.height * spec.width * spec.channels);
}

// What AssembleFrame makes, as an image in `memory`.
Image Assembled(const Image& in, const FoldedPass& fold, ScratchBuffer& memory) {
  const ImageSpec spec{fold.spec().height, fold.spec().width, in.spec.channels, DType::kU8,
                       Layout::kHwc};
  AssembleFrame(in, fold, {memory.Ensure(spec.bytes()), spec.bytes()});
  const auto channels = static_cast<std::size_t>(spec.channels);
  return {memory.data(), static_cast<std::size_t>(spec.width) * channels, channels, spec,
          WholeOf(spec)};
}

void RenderChannelsLast(const Image& in, const FoldedPass& fold, ByteSpan table,
                        ScratchBuffer& scratch, MutableByteSpan out) {
  if (fold.spec().dtype == DType::kU8) {  // a picture, of which the table's chain makes more
    AssembleFrame(in, fold, U8(out));
    FillPacked<std::uint8_t>(fold, U8(out));
    return;
  }
  const std::size_t bytes = PackedBytes(fold.spec());
  const std::span frame(scratch.Ensure(bytes), bytes);
  AssembleFrame(in, fold, frame);
  switch (DTypeBytes(fold.spec().dtype)) {
    case 1:
      return RenderPacked<std::uint8_t>(frame, fold, table, out);
    case 2:
      return RenderPacked<std::uint16_t>(frame, fold, table, out);
    case 4:
      return RenderPacked<float>(frame, fold, table, out);
    default:
      return RenderPacked<double>(frame, fold, table, out);
  }
}

}  // namespace

Image RenderBytes(const Image& in, const FoldedPass& fold, ScratchBuffer& memory) {
  const bool moves = FlipOf(fold) != Flip{} || fold.SourceWindow() != fold.base();
  return moves ? Assembled(in, fold, memory) : in.Part(fold.base());
}

void RenderImage(const Image& in, const FoldedPass& fold, ScratchBuffer& memory, Image* out) {
  const ImageSpec& spec = fold.spec();
  HR_CHECK(spec.dtype == DType::kU8);
  if (fold.fills().empty() && FlipOf(fold) == Flip{}) {
    *out = in.Part(fold.base());
    return;
  }
  *out = Assembled(in, fold, memory);
  FillPacked<std::uint8_t>(fold, {memory.data(), out->spec.bytes()});
}

void RenderOutput(const Image& in, const FoldedPass& fold, ByteSpan table, ScratchBuffer& scratch,
                  MutableByteSpan out) {
  const ImageSpec& spec = fold.spec();
  HR_CHECK(out.size() == spec.bytes());
  if (spec.layout == Layout::kHwc) {
    RenderChannelsLast(in, fold, table, scratch, out);
    return;
  }
  Flip flip = FlipOf(fold);
  Image view;
  if (fold.SourceWindow() == fold.base()) {
    view = in.Part(fold.base());
  } else {
    view = Assembled(in, fold, scratch);
    flip = Flip{};
  }
  if (table.empty()) {
    HR_CHECK(spec.dtype == DType::kU8);
    ToChw(view, flip, U8(out));
    FillPlanes<std::uint8_t>(fold, U8(out));
    return;
  }
  // Moves integers of 4 and 8 bytes as the floats of their size.
  switch (DTypeBytes(spec.dtype)) {
    case 1:
      return RenderPlanes<std::uint8_t>(view, flip, fold, table, out);
    case 2:
      return RenderPlanes<std::uint16_t>(view, flip, fold, table, out);
    case 4:
      return RenderPlanes<float>(view, flip, fold, table, out);
    default:
      return RenderPlanes<double>(view, flip, fold, table, out);
  }
}

}  // namespace headrace::ops
