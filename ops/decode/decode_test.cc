#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

TEST(Decode, OnlyRgb) {
  const Node node = MakeNode("decode", {{"mode", std::string("L")}});
  EXPECT_EQ(Chain::Compile({node}, testing::Libraries(), {}).status(),
            Unsupported("node 0 decode: mode L"));
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
