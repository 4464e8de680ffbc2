// Speed of the image kernels on one core: decode (whole, window), every resize path, pointwise.
#include <benchmark/benchmark.h>

#include <array>
#include <cstring>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "ops/vision/image_header.h"
#include "ops/vision/jpeg/jpeg_decoder.h"
#include "ops/vision/jpeg/jpeg_test_util.h"
#include "ops/vision/pil/enhance.h"
#include "ops/vision/resample/resample.h"
#include "ops/vision/tensor/pointwise.h"
#include "ops/vision/testing/test_util.h"

namespace headrace::ops {
namespace {

// The size and the crops of a typical ImageNet photograph.
constexpr std::int64_t kWidth = 500, kHeight = 375, kSide = 224;
constexpr Window kCrop{60, 90, 260, 300};

std::vector<std::uint8_t> Photograph(std::int64_t width, std::int64_t height) {
  std::mt19937 random(1);
  std::vector<std::uint8_t> pixels(static_cast<std::size_t>(width * height * 3));
  std::size_t i = 0;
  for (std::int64_t y = 0; y < height; ++y) {
    for (std::int64_t x = 0; x < width; ++x) {
      const int noise = static_cast<int>(random() % 24);
      for (int c = 0; c < 3; ++c, ++i) {
        pixels[i] = static_cast<std::uint8_t>(
            (x * (c + 1) / 3 + y / 2 + ((x / 40 + y / 30) % 2) * 60 + noise) & 255);
      }
    }
  }
  return pixels;
}

std::string EncodedPhotograph(int luma_sampling, int quality = 94, bool own_tables = false) {
  return EncodeJpeg(
      kWidth, kHeight,
      {.h = luma_sampling, .v = luma_sampling, .quality = quality, .own_tables = own_tables},
      Photograph(kWidth, kHeight));
}

struct Picture : ImageMemory {
  Picture(std::int64_t width, std::int64_t height, int channels, int pixel_bytes)
      : ImageMemory(height, width, channels, pixel_bytes) {
    const std::vector<std::uint8_t> from = Photograph(width, height);
    for (std::int64_t i = 0; i < width * height; ++i) {
      std::memcpy(pixels + i * pixel_bytes, from.data() + i * 3,
                  static_cast<std::size_t>(channels));
    }
  }
};

void ImagesPerSecond(benchmark::State& state) { state.SetItemsProcessed(state.iterations()); }

// range: luma sampling, 1 for the crop only, 1 for separate Huffman tables in each file. Nearly all
// photographs have separate tables; each decode then meets other tables than the last one.
void BM_DecodeJpeg(benchmark::State& state) {
  const bool own_tables = state.range(2) != 0;
  const int sampling = static_cast<int>(state.range(0));
  const std::array<std::string, 2> files{
      EncodedPhotograph(sampling, 94, own_tables),
      EncodedPhotograph(sampling, own_tables ? 93 : 94, own_tables)};
  std::size_t next = 0;
  JpegDecoder decoder;
  ScratchBuffer memory;
  Image image;
  const std::optional<Window> window = state.range(1) != 0 ? std::optional(kCrop) : std::nullopt;
  for (auto _ : state) {
    const Status status =
        decoder.DecodeRgb(AsBytes(files[next++ % 2]), window, PixelFormat::kRgbx, memory, &image);
    if (!status.ok()) state.SkipWithError(status.ToString().c_str());
    benchmark::DoNotOptimize(image.data);
  }
  ImagesPerSecond(state);
  state.counters["file_bytes"] = static_cast<double>(files[0].size());
}
BENCHMARK(BM_DecodeJpeg)
    ->ArgsProduct({{1, 2}, {0, 1}, {0, 1}})
    ->ArgNames({"sampling", "crop", "own_tables"});

void BM_ReadHeader(benchmark::State& state) {
  const std::string file = EncodedPhotograph(2);
  for (auto _ : state) benchmark::DoNotOptimize(ReadImageHeader(AsBytes(file)));
  ImagesPerSecond(state);
}
BENCHMARK(BM_ReadHeader);

// range: SimdLevel, Filter, bytes of an input pixel, ResizeArithmetic. Sizes change as with random
// crops.
void BM_ResizeCrop(benchmark::State& state) {
  const auto level = static_cast<SimdLevel>(state.range(0));
  if (level > DetectSimdLevel()) {
    state.SkipWithError("this CPU lacks the instructions");
    return;
  }
  const int pixel_bytes = static_cast<int>(state.range(2));
  const Picture picture(kWidth, kHeight, pixel_bytes == 1 ? 1 : 3, pixel_bytes);
  Resampler resampler(level);
  ScratchBuffer memory;
  Image out;
  std::mt19937 random(2);
  for (auto _ : state) {
    Image in = picture.image;
    in.spec.width = 150 + static_cast<std::int64_t>(random() % 350);
    in.spec.height = 120 + static_cast<std::int64_t>(random() % 255);
    const ResizeSpec spec{.in_width = in.spec.width,
                          .in_height = in.spec.height,
                          .out_width = kSide,
                          .out_height = kSide,
                          .filter = static_cast<Filter>(state.range(1)),
                          .arithmetic = static_cast<ResizeArithmetic>(state.range(3))};
    const Status status = resampler.Resize(spec, in, std::nullopt, std::nullopt, memory, &out);
    if (!status.ok()) state.SkipWithError(status.ToString().c_str());
    benchmark::DoNotOptimize(out.data);
  }
  ImagesPerSecond(state);
}
BENCHMARK(BM_ResizeCrop)
    ->ArgsProduct({{0, 1, 2}, {static_cast<int>(Filter::kBilinear)}, {1, 3, 4}, {0, 1, 2}})
    ->ArgsProduct({{1, 2},
                   {static_cast<int>(Filter::kNearest), static_cast<int>(Filter::kBox),
                    static_cast<int>(Filter::kBicubic), static_cast<int>(Filter::kLanczos),
                    static_cast<int>(Filter::kHamming)},
                   {4},
                   {0}})
    ->ArgNames({"simd", "filter", "pixel_bytes", "arithmetic"});

// range: PointwiseLevel, horizontal flip, bytes of an input pixel, samples a batch (64 exceed the
// caches, as in a worker).
template <typename T>
void BM_TableToChw(benchmark::State& state) {
  const auto level = static_cast<PointwiseLevel>(state.range(0));
  if (level > DetectPointwiseLevel()) {
    state.SkipWithError("this CPU lacks the instructions");
    return;
  }
  const Picture picture(kSide, kSide, 3, static_cast<int>(state.range(2)));
  std::vector<T> table(3 * 256);
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = static_cast<T>(i);
  const auto samples = static_cast<std::size_t>(state.range(3));
  constexpr std::size_t kSample = 3 * kSide * kSide;
  ScratchBuffer memory;  // aligned like the slots of a batch
  const std::span batch(reinterpret_cast<T*>(memory.Ensure(samples * kSample * sizeof(T))),
                        samples * kSample);
  std::size_t slot = 0;
  for (auto _ : state) {
    const auto out = batch.subspan(slot * kSample, kSample);
    TableToChw<T>(picture.image, Flip{state.range(1) != 0, false}, table, out, level);
    benchmark::ClobberMemory();
    slot = (slot + 1) % samples;
  }
  ImagesPerSecond(state);
}
BENCHMARK(BM_TableToChw<float>)
    ->ArgsProduct({{0, 2}, {0, 1}, {4}, {1, 64}})
    ->ArgsProduct({{0, 2}, {0}, {3}, {1, 64}})
    ->ArgNames({"simd", "flip", "pixel_bytes", "samples"});
BENCHMARK(BM_TableToChw<std::uint16_t>)
    ->ArgsProduct({{0, 2}, {0}, {4}, {64}})
    ->ArgNames({"simd", "flip", "pixel_bytes", "samples"});

void BM_ToChw(benchmark::State& state) {
  const auto level = static_cast<PointwiseLevel>(state.range(0));
  if (level > DetectPointwiseLevel()) {
    state.SkipWithError("this CPU lacks the instructions");
    return;
  }
  const Picture picture(kSide, kSide, 3, 4);
  std::vector<std::uint8_t> out(3 * kSide * kSide);
  for (auto _ : state) {
    ToChw(picture.image, Flip{state.range(1) != 0, false}, out, level);
    benchmark::ClobberMemory();
  }
  ImagesPerSecond(state);
}
BENCHMARK(BM_ToChw)->ArgsProduct({{0, 1, 2}, {0, 1}})->ArgNames({"simd", "flip"});

// range: PointwiseLevel, bytes of a pixel.
void BM_Enhance(benchmark::State& state, void (*adjust)(const Canvas&, float, PointwiseLevel)) {
  const auto level = static_cast<PointwiseLevel>(state.range(0));
  if (level > DetectPointwiseLevel()) {
    state.SkipWithError("this CPU lacks the instructions");
    return;
  }
  const Picture picture(kSide, kSide, 3, static_cast<int>(state.range(1)));
  const Image& image = picture.image;
  std::vector<std::uint8_t> pixels(image.row_stride * static_cast<std::size_t>(kSide));
  for (auto _ : state) {
    std::memcpy(pixels.data(), picture.pixels, pixels.size());
    adjust({pixels.data(), image.row_stride, image.pixel_stride, image.spec}, 0.3F, level);
    benchmark::ClobberMemory();
  }
  ImagesPerSecond(state);
}
void EnhanceArgs(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgsProduct({{0, 1, 2}, {3, 4}})->ArgNames({"simd", "pixel_bytes"});
}
BENCHMARK_CAPTURE(BM_Enhance, brightness, AdjustBrightness)->Apply(EnhanceArgs);
BENCHMARK_CAPTURE(BM_Enhance, contrast, AdjustContrast)->Apply(EnhanceArgs);
BENCHMARK_CAPTURE(BM_Enhance, saturation, AdjustSaturation)->Apply(EnhanceArgs);
BENCHMARK_CAPTURE(BM_Enhance, hue, AdjustHue)->Apply(EnhanceArgs);

}  // namespace
}  // namespace headrace::ops
