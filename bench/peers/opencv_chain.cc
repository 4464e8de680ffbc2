// The ImageNet training chain as one would write it with OpenCV alone: decode, crop, resize, flip,
// float CHW. Not the same bits as torchvision's (no antialiasing); here to be compared with for
// speed.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <opencv2/imgcodecs.hpp>
#include <opencv2/imgproc.hpp>
#include <vector>

namespace {

std::vector<std::vector<unsigned char>> LoadPhotos() {
  const char* folder = std::getenv("HEADRACE_BENCH_PHOTOS");
  std::vector<std::vector<unsigned char>> photos;
  if (folder == nullptr) return photos;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file() || photos.size() == 256) continue;
    std::ifstream file(entry.path(), std::ios::binary);
    photos.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return photos;
}

void OpenCvChain(benchmark::State& state) {
  const auto photos = LoadPhotos();
  if (photos.empty()) {
    state.SkipWithError("HEADRACE_BENCH_PHOTOS names no folder with photographs");
    return;
  }
  cv::setNumThreads(1);
  constexpr int kSize = 224;
  std::vector<float> out(3 * kSize * kSize);
  std::size_t next = 0;
  for (auto _ : state) {
    const cv::Mat image = cv::imdecode(photos[next++ % photos.size()], cv::IMREAD_COLOR);
    // The centre three quarters: about the mean area of a random resized crop.
    const cv::Rect crop(image.cols / 8, image.rows / 8, image.cols * 3 / 4, image.rows * 3 / 4);
    cv::Mat small, flipped, rgb, scaled;
    cv::resize(image(crop), small, {kSize, kSize}, 0, 0, cv::INTER_LINEAR);
    cv::flip(small, flipped, 1);
    cv::cvtColor(flipped, rgb, cv::COLOR_BGR2RGB);
    rgb.convertTo(scaled, CV_32FC3, 1.0 / 255);
    scaled -= cv::Scalar(0.485, 0.456, 0.406);
    scaled /= cv::Scalar(0.229, 0.224, 0.225);
    for (int channel = 0; channel < 3; ++channel) {
      cv::Mat plane(kSize, kSize, CV_32F, out.data() + channel * kSize * kSize);
      cv::extractChannel(scaled, plane, channel);
    }
    benchmark::DoNotOptimize(out.data());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(OpenCvChain)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
