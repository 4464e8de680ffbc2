// OpenCV behind hostile plans: whatever arguments a plan has, its operators make a sample or answer
// with a status.
#include <algorithm>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

constexpr unsigned kSeed = 20261125;

class OpenCvArgs : public ::testing::Test {
 protected:
  void SetUp() override { RecordProperty("seed", static_cast<int>(kSeed)); }

  template <typename T>
  T OneOf(std::vector<T> values) {
    return values[random_() % values.size()];
  }

  // Mostly sides that make sense, some at the borders of what is taken, some nonsense.
  std::int64_t Side() {
    if (random_() % 4 != 0) return static_cast<std::int64_t>(random_() % 40);
    return OneOf<std::int64_t>({-1, 0, 254, 255, 256, 257, 32767, 32768, std::int64_t{1} << 40,
                                std::numeric_limits<std::int64_t>::min(),
                                std::numeric_limits<std::int64_t>::max()});
  }

  double Number() {
    if (random_() % 4 != 0) return static_cast<double>(random_() % 1000) / 100 - 4;
    return OneOf<double>({0, 1e-300, 1e-9, 1e9, 1e300, -1e300, 255, 256, 1 << 20,
                          std::numeric_limits<double>::quiet_NaN(),
                          std::numeric_limits<double>::infinity()});
  }

  std::string Border() {
    return OneOf<std::string>({"CONSTANT", "REPLICATE", "REFLECT", "REFLECT_101", "WRAP", ""});
  }

  Node Drawn() {
    const std::int64_t version = OneOf<std::int64_t>({0, 4, 5, -7});
    switch (random_() % 4) {
      case 0:
        return MakeNode(
            "cv_resize",
            {{"size", OneOf<std::vector<std::int64_t>>({{Side(), Side()}, {Side()}})},
             {"rule", OneOf<std::string>({"sides", "sides", "longest", "shortest"})},
             {"interpolation", OneOf<std::string>({"NEAREST", "LINEAR", "CUBIC", "AREA", "LANCZOS4",
                                                   "LINEAR_EXACT", "NEAREST_EXACT", "MAX"})},
             {"version", version}});
      case 1:
        return MakeNode("cv_cvt_color",
                        {{"code", OneOf<std::string>({"BGR2GRAY", "GRAY2BGR", "BGR2HSV", "HSV2RGB",
                                                      "RGB2Lab", "Lab2RGB", "BGR2HLS", "RGB2YUV",
                                                      "YCrCb2BGR", "RGB2YCrCb", "BGR2XYZ"})},
                         {"version", version}});
      case 2:
        return MakeNode("cv_gaussian_blur",
                        {{"size", std::vector<std::int64_t>{Side() | 1, Side() | 1}},
                         {"sigma_x", Number()},
                         {"sigma_y", Number()},
                         {"border", Border()},
                         {"version", version}});
      default: {
        std::vector<double> matrix(6);
        std::ranges::generate(matrix, [&] { return Number(); });
        return MakeNode("cv_warp_affine",
                        {{"matrix", matrix},
                         {"size", std::vector<std::int64_t>{Side(), Side()}},
                         {"interpolation", OneOf<std::string>({"NEAREST", "LINEAR", "CUBIC"})},
                         {"inverse", static_cast<std::int64_t>(random_() % 2)},
                         {"border", Border()},
                         {"outside", OneOf<double>({0, 7, 255, 256, -1, 0.5})},
                         {"version", version}});
      }
    }
  }

  std::mt19937 random_{kSeed};
};

TEST_F(OpenCvArgs, MakeASampleOrAStatus) {
  int made = 0, refused = 0;
  for (int round = 0; round < 4000; ++round) {
    const std::int64_t channels = random_() % 2 == 0 ? 1 : 3;
    const auto side = [&] { return static_cast<std::int64_t>(random_() % 50 + 1); };
    const TensorSpec spec{DType::kU8, Layout::kHwc, {side(), side(), channels}};
    std::vector<std::uint8_t> pixels(spec.bytes());
    for (auto& value : pixels) value = static_cast<std::uint8_t>(random_());
    const Node node = Drawn();
    SCOPED_TRACE("round " + std::to_string(round) + " " + node.op);
    const auto ran = RunPixels({node}, spec, pixels);
    (ran.status.ok() ? made : refused)++;
    EXPECT_NE(ran.status.code(), Code::kInternal) << ran.status.ToString();
  }
  EXPECT_GT(made, 600);
  EXPECT_GT(refused, 600);
}

}  // namespace
}  // namespace headrace::ops::testing
