#include "ops/vision/png/png_decoder.h"

#include <png.h>

#include <algorithm>
#include <array>
#include <csetjmp>
#include <cstring>
#include <string>
#include <vector>

#include "ops/vision/png/png_chunks.h"

namespace headrace::ops {
namespace {

// One decoding run of libpng, which gets only the critical chunks. Its errors and warnings leave by
// longjmp to the innermost Run. So code in between holds nothing that needs a destructor.
class Reader {
 public:
  explicit Reader(const PngChunks& chunks) : chunks_(chunks) {
    png_ = png_create_read_struct(PNG_LIBPNG_VER_STRING, this, OnStop, OnStop);
    if (png_ != nullptr) info_ = png_create_info_struct(png_);
    if (info_ != nullptr) png_set_read_fn(png_, this, OnRead);
  }
  ~Reader() { png_destroy_read_struct(&png_, &info_, nullptr); }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  [[nodiscard]] bool ok() const { return info_ != nullptr; }
  [[nodiscard]] const char* text() const { return text_; }

  // Makes palette images one index a byte, and all others pixels of `format`.
  bool Start(PixelFormat format, bool as_indices) {
    return Run([=, this] {
      png_set_sig_bytes(png_, 8);  // the signature is not among the chunks
      png_read_info(png_, info_);
      if (as_indices) {
        png_set_packing(png_);
      } else {
        png_set_strip_16(png_);
        png_set_expand_gray_1_2_4_to_8(png_);
        png_set_gray_to_rgb(png_);
        if (format == PixelFormat::kRgb) {
          png_set_strip_alpha(png_);
        } else {
          png_set_filler(png_, 0, PNG_FILLER_AFTER);
        }
      }
      png_set_interlace_handling(png_);
      png_read_update_info(png_, info_);
    });
  }
  [[nodiscard]] std::size_t row_bytes() const { return png_get_rowbytes(png_, info_); }

  bool ReadRows(png_bytepp rows) {
    return Run([=, this] {
      png_read_image(png_, rows);
      png_read_end(png_, nullptr);
    });
  }

  // Writes the palette's colours as 4-byte pixels; returns their number.
  std::size_t Palette(std::array<std::uint8_t, 1024>* colors) const {
    png_colorp entries = nullptr;
    int count = 0;
    if (png_get_PLTE(png_, info_, &entries, &count) == 0) return 0;
    for (int i = 0; i < count; ++i) {
      const std::uint8_t pixel[4] = {entries[i].red, entries[i].green, entries[i].blue, 0};
      std::memcpy(colors->data() + 4 * i, pixel, 4);
    }
    return static_cast<std::size_t>(count);
  }

 private:
  template <typename F>
  bool Run(F f) {
    if (setjmp(landing_) != 0) return false;
    f();
    return true;
  }
  // PIL goes on after some of libpng's errors and warnings, so PIL has to decide.
  [[noreturn]] static void OnStop(png_structp png, png_const_charp message) {
    auto* self = static_cast<Reader*>(png_get_error_ptr(png));
    std::strncpy(self->text_, message, sizeof self->text_ - 1);
    std::longjmp(self->landing_, 1);
  }
  static void OnRead(png_structp png, png_bytep out, std::size_t size) {
    auto* self = static_cast<Reader*>(png_get_io_ptr(png));
    while (size > 0) {
      if (self->chunk_ == self->chunks_.critical.size()) png_error(png, "truncated");
      const ByteSpan rest = self->chunks_.critical[self->chunk_].subspan(self->offset_);
      const std::size_t n = std::min(size, rest.size());
      std::memcpy(out, rest.data(), n);
      out += n;
      size -= n;
      self->offset_ += n;
      if (n == rest.size()) {
        ++self->chunk_;
        self->offset_ = 0;
      }
    }
  }

  const PngChunks& chunks_;
  png_structp png_ = nullptr;
  png_infop info_ = nullptr;
  std::jmp_buf landing_;
  char text_[128] = {};
  std::size_t chunk_ = 0;
  std::size_t offset_ = 0;
};

// Looks the indices up. False: an index has no colour, and PIL decides what it shows there.
bool MapIndices(const std::uint8_t* indices, std::size_t pixels,
                const std::array<std::uint8_t, 1024>& colors, std::size_t count, std::size_t step,
                std::uint8_t* out) {
  std::uint8_t largest = 0;
  for (std::size_t i = 0; i < pixels; ++i, out += step) {
    largest = std::max(largest, indices[i]);
    std::memcpy(out, colors.data() + std::size_t{4} * indices[i], step);
  }
  return largest < count;
}

}  // namespace

PngDecoder::PngDecoder() = default;
PngDecoder::~PngDecoder() = default;

Status PngDecoder::DecodeRgb(ByteSpan file, PixelFormat format, ScratchBuffer& memory, Image* out) {
  HR_TRY(const PngChunks chunks, WalkPngChunks(file));
  if (chunks.color == PNG_COLOR_TYPE_GRAY && chunks.depth == 16) {
    return Unsupported("PNG: 16-bit gray");
  }
  Reader reader(chunks);
  if (!reader.ok()) return ResourceExhausted("PNG: no memory for libpng");
  const auto refuse = [&reader] { return DataLoss(std::string("PNG: ") + reader.text()); };
  const bool has_palette = chunks.color == PNG_COLOR_TYPE_PALETTE;
  if (!reader.Start(format, has_palette)) return refuse();

  const auto width = static_cast<std::size_t>(chunks.width);
  const auto height = static_cast<std::size_t>(chunks.height);
  const auto pixel_bytes = static_cast<std::size_t>(format);
  const std::size_t read_bytes = has_palette ? width : width * pixel_bytes;
  if (reader.row_bytes() != read_bytes) return Unsupported("PNG: unexpected row format");
  std::uint8_t* pixels = memory.Ensure(width * height * pixel_bytes);
  std::uint8_t* target = has_palette ? rows_.Ensure(width * height) : pixels;
  std::vector<png_bytep> rows(height);
  for (std::size_t y = 0; y < height; ++y) rows[y] = target + y * read_bytes;
  if (!reader.ReadRows(rows.data())) return refuse();
  if (has_palette) {
    std::array<std::uint8_t, 1024> colors{};
    const std::size_t count = reader.Palette(&colors);
    if (!MapIndices(target, width * height, colors, count, pixel_bytes, pixels)) {
      return Unsupported("PNG: a pixel without a colour in the palette");
    }
  }
  out->data = pixels;
  out->row_stride = width * pixel_bytes;
  out->pixel_stride = pixel_bytes;
  out->spec = ImageSpec{chunks.height, chunks.width, 3, DType::kU8, Layout::kHwc};
  out->held = Window{0, 0, chunks.height, chunks.width};
  return Status::Ok();
}

}  // namespace headrace::ops
