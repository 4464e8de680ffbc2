#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

Args Moved(std::vector<double> matrix, std::int64_t height, std::int64_t width,
           std::int64_t version) {
  return {{"matrix", std::move(matrix)},
          {"size", std::vector<std::int64_t>{height, width}},
          {"version", version}};
}

TEST(CvWarpAffine, MovesPixelsAndFillsWhatIsOutside) {
  Args args = Moved({1, 0, 1, 0, 1, 0}, 1, 3, 4);
  args["outside"] = 200.0;
  EXPECT_THAT(RunPixels({MakeNode("cv_warp_affine", args)}, GraySpec(1, 3), {1, 2, 3}).values,
              ElementsAre(200, 1, 2));
  args["inverse"] = std::int64_t{1};
  args["border"] = std::string("REPLICATE");
  EXPECT_THAT(RunPixels({MakeNode("cv_warp_affine", args)}, GraySpec(1, 3), {1, 2, 3}).values,
              ElementsAre(2, 3, 3));
}

TEST(CvWarpAffine, OfOpenCv5ForItsGroupsAlone) {
  const std::vector<double> same{1, 0, 0, 0, 1, 0};
  const auto code = [&](std::int64_t width, std::int64_t version, bool gray) {
    const Node node = MakeNode("cv_warp_affine", Moved(same, 1, width, version));
    return RunPixels({node}, gray ? GraySpec(1, 1) : RgbSpec(1, 1),
                     std::vector<std::uint8_t>(gray ? 1 : 3, 5))
        .status.code();
  };
  EXPECT_EQ(code(15, 5, false), Code::kUnsupported);
  EXPECT_EQ(code(16, 5, true), Code::kUnsupported);
  EXPECT_EQ(code(15, 4, false), Code::kOk);
  EXPECT_EQ(code(15, 4, true), Code::kOk);
}

TEST(CvWarpAffine, MatricesAreBounded) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double wrong : {kNan, kInf, 1e300, 2e6}) {
    for (std::size_t at = 0; at < 6; ++at) {
      std::vector<double> matrix{1, 0, 0, 0, 1, 0};
      matrix[at] = wrong;
      Args args = Moved(matrix, 4, 16, 4);
      args["inverse"] = std::int64_t{1};
      EXPECT_FALSE(RunPixels({MakeNode("cv_warp_affine", args)}, GraySpec(1, 1), {9}).status.ok());
    }
  }
  // Its inverse leads far away.
  EXPECT_FALSE(RunPixels({MakeNode("cv_warp_affine", Moved({1e-9, 0, 0, 0, 1, 0}, 4, 16, 4))},
                         GraySpec(1, 1), {9})
                   .status.ok());
}

}  // namespace
}  // namespace headrace::ops::testing
