// A C interface to the image kernels, for tests that load them with ctypes. Every function returns
// a headrace::Code.
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "ops/vision/image_header.h"
#include "ops/vision/jpeg/jpeg_decoder.h"
#include "ops/vision/png/png_decoder.h"
#include "ops/vision/resample/resample.h"
#include "ops/vision/tensor/pointwise.h"

#define HR_EXPORT extern "C" __attribute__((visibility("default")))

namespace headrace::ops {
namespace {

ByteSpan Span(const std::uint8_t* data, std::size_t size) {
  return {reinterpret_cast<const std::byte*>(data), size};
}

// Packs the pixels of `image` into out, which is `capacity` bytes.
int Pack(const Image& image, std::uint8_t* out, std::size_t capacity) {
  const auto size =
      static_cast<std::size_t>(image.spec.height * image.spec.width * image.spec.channels);
  if (size != capacity) return static_cast<int>(Code::kInternal);
  ToPacked(image, Flip{}, {out, size});
  return 0;
}

int Finish(const Status& status, const Image& image, std::uint8_t* out, std::size_t capacity) {
  return status.ok() ? Pack(image, out, capacity) : static_cast<int>(status.code());
}

}  // namespace

// header: need_bytes, format, width, height, channels, progressive.
HR_EXPORT int hr_image_header(const std::uint8_t* data, std::size_t size, std::int64_t* header) {
  const Result<ImageHeader> result = ReadImageHeader(Span(data, size));
  if (!result.ok()) return static_cast<int>(result.status().code());
  header[0] = static_cast<std::int64_t>(result->need_bytes);
  header[1] = static_cast<std::int64_t>(result->format);
  header[2] = result->width;
  header[3] = result->height;
  header[4] = result->channels;
  header[5] = result->progressive ? 1 : 0;
  return 0;
}

// window: top, left, height, width, or null; out: packed RGB of the window.
HR_EXPORT int hr_jpeg_decode(const std::uint8_t* data, std::size_t size, const std::int64_t* window,
                             int pixel_bytes, std::uint8_t* out, std::size_t capacity) {
  static thread_local JpegDecoder decoder;
  static thread_local ScratchBuffer memory;
  std::optional<Window> part;
  if (window != nullptr) part = Window{window[0], window[1], window[2], window[3]};
  Image image;
  const Status status = decoder.DecodeRgb(
      Span(data, size), part, PixelFormat{static_cast<std::uint8_t>(pixel_bytes)}, memory, &image);
  return Finish(status, image, out, capacity);
}

// As hr_jpeg_decode.
HR_EXPORT int hr_png_decode(const std::uint8_t* data, std::size_t size, const std::int64_t* window,
                            int pixel_bytes, std::uint8_t* out, std::size_t capacity) {
  static thread_local PngDecoder decoder;
  static thread_local ScratchBuffer memory;
  std::optional<Window> part;
  if (window != nullptr) part = Window{window[0], window[1], window[2], window[3]};
  Image image;
  const Status status = decoder.DecodeRgb(
      Span(data, size), part, PixelFormat{static_cast<std::uint8_t>(pixel_bytes)}, memory, &image);
  return Finish(status, image, out, capacity);
}

// spec: in_width, in_height, out_width, out_height, filter, order, arithmetic, antialias; in:
// packed, `channels` bytes a pixel; box and out_window may be null. The kernel sees only the input
// window that it asks for, in separate memory, with pixels of `pixel_bytes`.
HR_EXPORT int hr_resize(int level, const std::int64_t* spec, const float* box,
                        const std::int64_t* out_window, const std::uint8_t* in, int channels,
                        int pixel_bytes, std::uint8_t* out, std::size_t capacity) {
  static thread_local Resampler resamplers[] = {Resampler(SimdLevel::kScalar),
                                                Resampler(SimdLevel::kAvx2),
                                                Resampler(SimdLevel::kAvx512Vnni)};
  Resampler& resampler = resamplers[level];
  ResizeSpec resize;
  resize.in_width = spec[0];
  resize.in_height = spec[1];
  resize.out_width = spec[2];
  resize.out_height = spec[3];
  resize.filter = static_cast<Filter>(spec[4]);
  resize.order = static_cast<PassOrder>(spec[5]);
  resize.arithmetic = static_cast<ResizeArithmetic>(spec[6]);
  resize.antialias = spec[7] != 0;
  if (box != nullptr) resize.box = Box{box[0], box[1], box[2], box[3]};
  std::optional<Window> part;
  if (out_window != nullptr) {
    part = Window{out_window[0], out_window[1], out_window[2], out_window[3]};
  }
  const Result<Window> needed = resampler.InputWindow(resize, part);
  if (!needed.ok()) return static_cast<int>(needed.status().code());
  ScratchBuffer pixels;
  Image image;
  image.pixel_stride = static_cast<std::size_t>(pixel_bytes);
  image.row_stride = image.pixel_stride * static_cast<std::size_t>(needed->width);
  std::uint8_t* const to =
      pixels.Ensure(image.row_stride * static_cast<std::size_t>(needed->height));
  image.data = to;
  image.spec.width = needed->width;
  image.spec.height = needed->height;
  image.spec.channels = channels;
  for (std::int64_t y = 0; y < needed->height; ++y) {
    for (std::int64_t x = 0; x < needed->width; ++x) {
      std::memcpy(to + y * image.row_stride + x * image.pixel_stride,
                  in + ((needed->top + y) * resize.in_width + needed->left + x) * channels,
                  static_cast<std::size_t>(channels));
    }
  }
  ScratchBuffer memory;
  Image resized;
  const Status status = resampler.Resize(resize, image, *needed, part, memory, &resized);
  return Finish(status, resized, out, capacity);
}

// The order of passes with which hr_resize equals a Pillow version.
HR_EXPORT int hr_pass_order(const char* version) {
  return static_cast<int>(PassOrderOfPillow(version));
}

// The best level for hr_resize on this machine.
HR_EXPORT int hr_simd_level() { return static_cast<int>(DetectSimdLevel()); }

// shape: height, width, channels, pixel stride; table: channels x 256.
HR_EXPORT int hr_table_f32(int level, const std::uint8_t* in, const std::int64_t* shape, int flip_x,
                           int flip_y, const float* table, float* out) {
  Image image;
  image.data = in;
  image.row_stride = static_cast<std::size_t>(shape[1] * shape[3]);
  image.pixel_stride = static_cast<std::size_t>(shape[3]);
  image.spec = {shape[0], shape[1], static_cast<std::int32_t>(shape[2])};
  const auto channels = static_cast<std::size_t>(shape[2]);
  TableToChw<float>(image, Flip{flip_x != 0, flip_y != 0}, {table, channels * 256},
                    {out, channels * static_cast<std::size_t>(shape[0] * shape[1])},
                    static_cast<PointwiseLevel>(level));
  return 0;
}

HR_EXPORT int hr_pointwise_level() { return static_cast<int>(DetectPointwiseLevel()); }

}  // namespace headrace::ops
