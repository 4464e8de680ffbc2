#include <string>

#include "gtest/gtest.h"
#include "ops/run/test_util.h"
#include "ops/vision/jpeg/jpeg_test_util.h"

namespace headrace::ops::testing {
namespace {

TEST(Decode, OnlyModesThatItKnows) {
  const auto channels = [](const char* mode) -> std::int64_t {
    const Node node = MakeNode("decode", {{"mode", std::string(mode)}});
    const Result<Chain> chain = Chain::Compile({node}, testing::Libraries(), {});
    if (chain.ok()) return chain->output().dims[2];
    EXPECT_EQ(chain.status(), Unsupported("node 0 decode: mode " + std::string(mode)));
    return 0;
  };
  EXPECT_EQ(channels("RGB"), 3);
  EXPECT_EQ(channels("L"), 1);
  EXPECT_EQ(channels("index"), 1);
  for (const char* other : {"P", "1", "RGBA", "I", ""}) EXPECT_EQ(channels(other), 0);
}

TEST(Decode, OnlyLibrariesThatItKnows) {
  const auto compiled = [](const char* library, const char* mode) {
    const Node node =
        MakeNode("decode", {{"mode", std::string(mode)}, {"library", std::string(library)}});
    return Chain::Compile({node}, testing::Libraries(), {}).status();
  };
  EXPECT_EQ(compiled("torchvision.io", "RGB"), Status::Ok());
  EXPECT_EQ(compiled("torchvision.io", "UNCHANGED"), Status::Ok());
  EXPECT_EQ(compiled("torchvision.io", "GRAY"), Unsupported("node 0 decode: mode GRAY"));
  EXPECT_EQ(compiled("PIL", "UNCHANGED"), Unsupported("node 0 decode: mode UNCHANGED"));
  EXPECT_EQ(compiled("cv2", "RGB"), Unsupported("node 0 decode: library cv2"));
}

Status StatusOfDecoding(const std::string& file, const char* library, const char* mode) {
  const Node node =
      MakeNode("decode", {{"mode", std::string(mode)}, {"library", std::string(library)}});
  const auto runner = ChainRunner::Make(
      std::make_shared<const Chain>(*Chain::Compile({node}, testing::Libraries(), {})));
  OpContext context;
  Bytes out(16 * 16 * 3);
  return runner->Run(AsBytes(file), {}, context, out);
}

// Their own pixels, or their own errors, are the trainer's to make.
TEST(Decode, LeavesToTorchvisionWhatItDecodesInItsOwnWay) {
  const std::string colour = EncodeJpeg(16, 16, {});
  const std::string grey = EncodeJpeg(16, 16, {.space = JCS_GRAYSCALE});
  const std::string cmyk = EncodeJpeg(16, 16, {.space = JCS_CMYK});
  const char* const io = "torchvision.io";
  EXPECT_EQ(StatusOfDecoding(colour, io, "RGB"), Status::Ok());
  EXPECT_EQ(StatusOfDecoding(colour, io, "UNCHANGED"), Status::Ok());
  EXPECT_EQ(StatusOfDecoding(grey, io, "RGB"), Status::Ok());
  EXPECT_EQ(StatusOfDecoding(grey, io, "UNCHANGED").code(), Code::kUnsupported);
  EXPECT_EQ(StatusOfDecoding(cmyk, io, "RGB").code(), Code::kUnsupported);
  EXPECT_EQ(StatusOfDecoding(cmyk, io, "UNCHANGED").code(), Code::kUnsupported);
  EXPECT_EQ(StatusOfDecoding(cmyk, "PIL", "RGB"), Status::Ok());
}

TEST(Decode, RefusesWhatIsNoImage) {
  const auto runner = ChainRunner::Make(std::make_shared<const Chain>(
      *Chain::Compile({MakeNode("decode")}, testing::Libraries(), {})));
  OpContext context;
  Bytes out(12);
  for (const std::string_view file : {"", "GIF89a", "hello"}) {
    const Status status = runner->Run(AsBytes(file), {}, context, out);
    EXPECT_TRUE(status.code() == Code::kDataLoss || status.code() == Code::kUnsupported) << file;
  }
}

}  // namespace
}  // namespace headrace::ops::testing
