#include "ops/vision/png/png_decoder.h"

#include <libdeflate.h>

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "ops/vision/fold/fold.h"
#include "ops/vision/png/png_chunks.h"
#include "ops/vision/png/png_filter.h"
#include "ops/vision/png/png_rows.h"

namespace headrace::ops {
namespace {

// DEFLATE makes at most 258 bytes of 2 bits.
constexpr std::size_t kMostInflation = 1032;

// Whether the file's bytes are the output's pixels, so that they need no conversion.
bool HasOutputsBytes(const PngChunks& png, std::size_t pixel_bytes) {
  if (png.interlaced || png.depth != 8) return false;
  return png.color == 2 || (png.color == 6 && pixel_bytes == 4) || pixel_bytes == 1;
}

// PIL refuses an unknown filter of any row. `row` is the first of the inflated rows.
Status CheckFilters(const PngChunks& png, const std::uint8_t* row) {
  for (const PngPass& pass : PassesOf(png)) {
    const std::size_t pixels =
        Met(static_cast<std::size_t>(png.width), pass.left, pass.column_step);
    std::size_t rows = Met(static_cast<std::size_t>(png.height), pass.top, pass.row_step);
    for (; pixels > 0 && rows > 0; --rows, row += 1 + RowBytes(png, pixels)) {
      if (*row >= kPngFilters) return DataLoss("PNG: filter " + std::to_string(*row));
    }
  }
  return Status::Ok();
}

}  // namespace

struct PngDecoder::Inflater {
  libdeflate_decompressor* const engine = libdeflate_alloc_decompressor();
  Inflater() = default;
  ~Inflater() { libdeflate_free_decompressor(engine); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

PngDecoder::PngDecoder() : inflater_(std::make_unique<Inflater>()) {}
PngDecoder::~PngDecoder() = default;

Status PngDecoder::Inflate(const PngChunks& png) {
  if (inflater_->engine == nullptr) return ResourceExhausted("PNG: no memory for libdeflate");
  std::size_t size = 0;
  for (const ByteSpan part : png.pixels) size += part.size();
  const std::size_t inflated = InflatedBytes(png);
  if (inflated / kMostInflation > size) return DataLoss("PNG: too few bytes for its pixels");
  const void* stream = png.pixels.front().data();
  if (png.pixels.size() > 1) {
    std::uint8_t* to = stream_.Ensure(size);
    stream = to;
    for (const ByteSpan part : png.pixels) {
      if (!part.empty()) std::memcpy(to, part.data(), part.size());
      to += part.size();
    }
  }
  std::size_t read = 0;
  const libdeflate_result outcome =
      libdeflate_zlib_decompress_ex(inflater_->engine, stream, size, filtered_.Ensure(inflated),
                                    inflated, &read, /*actual_out_nbytes_ret=*/nullptr);
  if (outcome != LIBDEFLATE_SUCCESS) return DataLoss("PNG: damaged pixels");
  if (read != size) return DataLoss("PNG: bytes after the pixels");
  return Status::Ok();
}

void PngDecoder::DecodeDirectly(const PngChunks& png, std::size_t rows, std::size_t columns,
                                std::size_t pixel_bytes, std::uint8_t* out) {
  const std::size_t unit = BitsOfPixel(png) / 8;
  const std::size_t in_stride = 1 + RowBytes(png, static_cast<std::size_t>(png.width));
  const std::size_t out_stride = columns * pixel_bytes;
  std::uint8_t* const zeros = rows_.Ensure(out_stride);
  std::memset(zeros, 0, out_stride);
  const std::uint8_t* above = zeros;
  const std::uint8_t* row = filtered_.data();
  for (std::size_t y = 0; y < rows; ++y, row += in_stride, out += out_stride) {
    Unfilter(row[0], row + 1, above, columns, unit, pixel_bytes, out);
    above = out;
  }
}

Status PngDecoder::DecodePasses(const PngChunks& png, std::size_t rows, std::size_t columns,
                                std::size_t pixel_bytes, std::uint8_t* out) {
  PngColors colors(png);
  const std::size_t unit = std::max<std::size_t>(BitsOfPixel(png) / 8, 1);
  const auto width = static_cast<std::size_t>(png.width);
  // Pixels of at most 8 bytes are stored 8 bytes at a time.
  const std::size_t longest = RowBytes(png, width) + 8;
  std::uint8_t* const zeros = rows_.Ensure(3 * longest);
  std::uint8_t *here = zeros + longest, *above = here + longest;
  std::memset(zeros, 0, longest);
  const std::uint8_t* row = filtered_.data();
  for (const PngPass& pass : PassesOf(png)) {
    const std::size_t in_row = Met(width, pass.left, pass.column_step);
    if (in_row == 0) continue;
    const std::size_t in_pass = Met(static_cast<std::size_t>(png.height), pass.top, pass.row_step);
    const std::size_t wanted = Met(columns, pass.left, pass.column_step);
    const std::size_t wanted_rows = wanted > 0 ? Met(rows, pass.top, pass.row_step) : 0;
    const std::size_t stride = 1 + RowBytes(png, in_row);
    for (std::size_t y = 0; y < wanted_rows; ++y) {
      const std::uint8_t* const filtered = row + y * stride;
      Unfilter(filtered[0], filtered + 1, y == 0 ? zeros : above, RowBytes(png, wanted) / unit,
               unit, unit, here);
      std::uint8_t* const to =
          out + ((pass.top + y * pass.row_step) * columns + pass.left) * pixel_bytes;
      if (pixel_bytes == 1) {
        CopyIndices(png, here, wanted, pass.column_step, to);
      } else {
        colors.Convert(here, wanted, pass.column_step * pixel_bytes, pixel_bytes == 4, to);
      }
      std::swap(here, above);
    }
    row += in_pass * stride;
  }
  if (colors.lacked_colors()) return Unsupported("PNG: a pixel without a colour in the palette");
  return Status::Ok();
}

Status PngDecoder::Decode(const PngChunks& png, const std::optional<Window>& window,
                          std::size_t pixel_bytes, ScratchBuffer& memory, Image* out) {
  const ImageSpec spec{png.height, png.width, pixel_bytes == 1 ? 1 : 3, DType::kU8, Layout::kHwc};
  const Window part = window.value_or(WholeOf(spec));
  if (!IsInside(part, spec)) return InvalidArgument("PNG: window is not inside of the image");
  HR_RETURN_IF_ERROR(Inflate(png));
  HR_RETURN_IF_ERROR(CheckFilters(png, filtered_.data()));

  const auto rows = static_cast<std::size_t>(part.top + part.height);
  const auto columns = static_cast<std::size_t>(part.left + part.width);
  std::uint8_t* const pixels = memory.Ensure(rows * columns * pixel_bytes);
  if (HasOutputsBytes(png, pixel_bytes)) {
    DecodeDirectly(png, rows, columns, pixel_bytes, pixels);
  } else {
    HR_RETURN_IF_ERROR(DecodePasses(png, rows, columns, pixel_bytes, pixels));
  }
  out->row_stride = columns * pixel_bytes;
  out->pixel_stride = pixel_bytes;
  out->data = pixels + static_cast<std::size_t>(part.top) * out->row_stride +
              static_cast<std::size_t>(part.left) * pixel_bytes;
  out->spec = {part.height, part.width, spec.channels, DType::kU8, Layout::kHwc};
  out->held = WholeOf(out->spec);
  return Status::Ok();
}

Status PngDecoder::DecodeRgb(ByteSpan file, const std::optional<Window>& window, PixelFormat format,
                             ScratchBuffer& memory, Image* out) {
  HR_TRY(const PngChunks png, WalkPngChunks(file));
  return Decode(png, window, static_cast<std::size_t>(format), memory, out);
}

Status PngDecoder::DecodeIndices(ByteSpan file, const std::optional<Window>& window,
                                 ScratchBuffer& memory, Image* out) {
  HR_TRY(const PngChunks png, WalkPngChunks(file));
  // Gray of one bit is mode 1, and of 16 bits I;16.
  const bool gray = png.color == 0 && png.depth > 1 && png.depth <= 8;
  if (!gray && png.color != 3) return Unsupported("PNG: a file of another mode than L and P");
  return Decode(png, window, 1, memory, out);
}

}  // namespace headrace::ops
