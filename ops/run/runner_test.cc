#include "ops/run/runner.h"

#include <png.h>

#include <memory>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/payload.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kHeight = 40, kWidth = 60;

// A PNG file whose pixel (y, x) is (y, x, y ^ x).
Bytes PngFile() {
  std::vector<std::uint8_t> pixels;
  for (std::int64_t y = 0; y < kHeight; ++y) {
    for (std::int64_t x = 0; x < kWidth; ++x) {
      for (const std::int64_t v : {y, x, y ^ x}) pixels.push_back(static_cast<std::uint8_t>(v));
    }
  }
  png_image info{};
  info.version = PNG_IMAGE_VERSION;
  info.width = kWidth;
  info.height = kHeight;
  info.format = PNG_FORMAT_RGB;
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&info, nullptr, &size, 0, pixels.data(), 0, nullptr);
  Bytes file(size);
  HR_CHECK(png_image_write_to_memory(&info, file.data(), &size, 0, pixels.data(), 0, nullptr));
  file.resize(size);
  return file;
}

class RunnerTest : public ::testing::Test {
 protected:
  void Compile(std::vector<Node> nodes) {
    nodes.insert(nodes.begin(), MakeNode("decode"));
    table_ = PlainExpTable(nodes);
    Result<Chain> chain = Chain::Compile(std::move(nodes), Libraries(), {{"torch_exp", table_}});
    ASSERT_TRUE(chain.ok()) << chain.status().ToString();
    Result<ChainRunner> runner =
        ChainRunner::Make(std::make_shared<const Chain>(std::move(chain).value()));
    ASSERT_TRUE(runner.ok()) << runner.status().ToString();
    runner_.emplace(std::move(runner).value());
  }
  Status Run(std::vector<std::int32_t> params) {
    out_.resize(runner_->OutputSpec(RgbSpec(kHeight, kWidth))->bytes());
    return runner_->Run(file_, params, context_, out_);
  }
  [[nodiscard]] int At(std::size_t i) const { return static_cast<int>(out_[i]); }

  const Bytes file_ = PngFile();
  Bytes table_;
  Bytes out_;
  std::optional<ChainRunner> runner_;
  OpContext context_;
};

TEST_F(RunnerTest, HeaderIsReadInPieces) {
  std::size_t asked = 0;
  const auto more = [&](std::size_t wanted) {
    ++asked;
    return ByteSpan(file_).first(std::min(wanted, file_.size()));
  };
  const Result<TensorSpec> spec = ChainRunner::ReadHeader(ByteSpan(file_).first(3), more);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(*spec, RgbSpec(kHeight, kWidth));
  EXPECT_GT(asked, 0U);
  const auto no_more = [](std::size_t) { return ByteSpan(); };
  EXPECT_EQ(ChainRunner::ReadHeader(ByteSpan(file_).first(3), no_more).status().code(),
            Code::kDataLoss);
}

TEST_F(RunnerTest, CropsBehindTheDecoderAreWindowsOfTheFile) {
  const Args size{{"size", std::vector<std::int64_t>{2, 3}}};
  Compile({MakeNode("random_crop", size), MakeNode("pil_to_tensor")});
  ASSERT_TRUE(Run({11, 50}).ok());
  EXPECT_EQ(At(0), 11);  // y of the first pixel
  EXPECT_EQ(At(5), 12);  // y of the last
  EXPECT_EQ(At(6), 50);  // x
  EXPECT_EQ(At(11), 52);
  EXPECT_EQ(At(12), 11 ^ 50);
}

TEST_F(RunnerTest, CropThatMissesTheImageIsAllFill) {
  const Args pad{{"padding", std::int64_t{90}}, {"fill", std::int64_t{5}}};
  const Args size{{"size", std::int64_t{2}}};
  Compile({MakeNode("pad", pad), MakeNode("random_crop", size), MakeNode("pil_to_tensor")});
  ASSERT_TRUE(Run({0, 0}).ok());
  EXPECT_THAT(out_, ::testing::Each(std::byte{5}));
}

TEST_F(RunnerTest, CacheMakesTheSameBits) {
  Compile({MakeNode("resize", {{"size", std::int64_t{24}}}),
           MakeNode("random_resized_crop", {{"size", std::int64_t{16}}}),
           MakeNode("random_horizontal_flip"), MakeNode("to_tensor")});
  const std::vector<std::int32_t> params{3, 4, 18, 20, 1};
  ASSERT_TRUE(Run(params).ok());
  Bytes payload;
  ASSERT_TRUE(runner_->RunPrefix(file_, context_, &payload).ok());
  EXPECT_EQ(*ChainRunner::PayloadSource(payload), RgbSpec(kHeight, kWidth));
  Bytes cached(out_.size());
  ASSERT_TRUE(runner_->RunFromPrefix(payload, params, context_, cached).ok());
  EXPECT_EQ(cached, out_);
}

TEST_F(RunnerTest, WhatIsCachedIsTheWholeImageBehindThePrefix) {
  const Node resize = MakeNode("resize", {{"size", std::int64_t{24}}});
  const Node crop = MakeNode("random_crop", {{"size", std::int64_t{9}}});
  Compile({resize});
  Bytes whole;
  ASSERT_TRUE(runner_->RunPrefix(file_, context_, &whole).ok());
  const Bytes key = runner_->chain().prefix_text();
  Compile({resize, crop, MakeNode("to_tensor")});
  EXPECT_EQ(runner_->chain().prefix_text(), key);
  Bytes payload;
  ASSERT_TRUE(runner_->RunPrefix(file_, context_, &payload).ok());
  EXPECT_EQ(payload, whole);
  EXPECT_EQ(ReadPayload(payload)->image.spec.tensor(), RgbSpec(24, 36));
  // A pure crop is part of the prefix, and of its key.
  Compile({resize, MakeNode("center_crop", {{"size", std::int64_t{9}}}), MakeNode("to_tensor")});
  EXPECT_NE(runner_->chain().prefix_text(), key);
  ASSERT_TRUE(runner_->RunPrefix(file_, context_, &payload).ok());
  EXPECT_EQ(ReadPayload(payload)->image.spec.tensor(), RgbSpec(9, 9));
}

TEST_F(RunnerTest, DamagedPayloadIsDataLoss) {
  Compile({MakeNode("to_tensor")});
  Bytes payload;
  ASSERT_TRUE(runner_->RunPrefix(file_, context_, &payload).ok());
  Bytes out(runner_->OutputSpec(RgbSpec(kHeight, kWidth))->bytes());
  const auto run = [&](ByteSpan bytes) {
    return runner_->RunFromPrefix(bytes, {}, context_, out).code();
  };
  EXPECT_EQ(run(payload), Code::kOk);
  EXPECT_EQ(run(ByteSpan(payload).first(10)), Code::kDataLoss);
  EXPECT_EQ(run(ByteSpan(payload).first(payload.size() - 1)), Code::kDataLoss);
  for (std::size_t i = 0; i < 128; ++i) {
    Bytes damaged = payload;
    damaged[i] ^= std::byte{0x80};
    const Code code = run(damaged);
    // Another source size shows only in the size of the sample.
    EXPECT_TRUE(code == Code::kDataLoss || code == Code::kInvalidArgument) << i;
  }
}

TEST_F(RunnerTest, SampleOfAnotherSizeIsRefused) {
  Compile({MakeNode("pil_to_tensor")});
  Bytes out(17);
  const Status status = runner_->Run(file_, {}, context_, out);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("makes a sample of 7200 bytes, not 17"));
  const std::vector<std::int32_t> extra(1);
  EXPECT_THAT(runner_->Run(file_, extra, context_, out).message(), HasSubstr("parameter words"));
}

TEST_F(RunnerTest, BatchSlotThatIsNotAlignedIsRefused) {
  Compile({MakeNode("to_tensor")});
  std::vector<float> memory(static_cast<std::size_t>(kHeight * kWidth * 3 + 1));
  const MutableByteSpan bytes = std::as_writable_bytes(std::span(memory));
  EXPECT_EQ(runner_->Run(file_, {}, context_, bytes.subspan(1, bytes.size() - 4)).code(),
            Code::kInvalidArgument);
}

TEST_F(RunnerTest, TruncatedFileIsNotOtherPixels) {
  Compile({MakeNode("random_crop", {{"size", std::int64_t{2}}}), MakeNode("pil_to_tensor")});
  Bytes out(12);
  const std::vector<std::int32_t> params{0, 0};  // the rows that remain
  const Status status =
      runner_->Run(ByteSpan(file_).first(file_.size() - 30), params, context_, out);
  EXPECT_TRUE(status.code() == Code::kDataLoss || status.code() == Code::kUnsupported)
      << status.ToString();
}

TEST_F(RunnerTest, FlipBeforeAResizeIsRenderedOnce) {
  Compile({MakeNode("random_horizontal_flip"), MakeNode("random_vertical_flip"),
           MakeNode("resize", {{"size", std::vector<std::int64_t>{kHeight / 2, kWidth / 2}},
                               {"interpolation", std::string("nearest")}}),
           MakeNode("pil_to_tensor")});
  ASSERT_TRUE(Run({1, 1}).ok());
  // Output (0, 0) is pixel (1, 1) of the mirrored image, (38, 58) of the file.
  EXPECT_EQ(At(0), kHeight - 2);
  EXPECT_EQ(At(static_cast<std::size_t>(kHeight * kWidth / 4)), kWidth - 2);
}

}  // namespace
}  // namespace headrace::ops::testing
