#include "net/payload.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::net {
namespace {

using ::testing::HasSubstr;

TEST(Payload, CutAndJoinedBytesAreTheSame) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPayloadFrameBytes,
                                 kPayloadFrameBytes + 1, 3 * kPayloadFrameBytes - 1}) {
    auto bytes = std::make_shared<Bytes>(size);
    for (std::size_t i = 0; i < size; ++i) (*bytes)[i] = static_cast<std::byte>(i * 31 >> 3);
    const std::vector<PayloadFrame> frames = SplitPayload(*bytes, bytes);
    std::vector<ByteSpan> parts;
    for (const PayloadFrame& frame : frames) {
      EXPECT_LE(frame.data.size(), kPayloadFrameBytes);
      EXPECT_EQ(frame.owner, bytes);
      parts.push_back(frame.data);
    }
    Bytes joined(size);
    ASSERT_TRUE(JoinPayload(parts, joined).ok());
    EXPECT_EQ(joined, *bytes);
  }
}

TEST(Payload, WrongSizeIsRefusedAndNothingIsWritten) {
  const Bytes part(10, std::byte{1});
  const std::vector<ByteSpan> parts = {part, part};
  Bytes slot(19, std::byte{0});
  const Status status = JoinPayload(parts, slot);
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("20 bytes where 19"));
  EXPECT_TRUE(std::ranges::all_of(slot, [](std::byte b) { return b == std::byte{0}; }));
}

}  // namespace
}  // namespace headrace::net
