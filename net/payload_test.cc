#include "net/payload.h"

#include "gtest/gtest.h"

namespace headrace::net {
namespace {

TEST(Payload, FramesAreTheBytesInOrderAndShareTheirOwner) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, kPayloadFrameBytes,
                                 kPayloadFrameBytes + 1, 3 * kPayloadFrameBytes - 1}) {
    auto bytes = std::make_shared<Bytes>(size);
    for (std::size_t i = 0; i < size; ++i) (*bytes)[i] = static_cast<std::byte>(i * 31 >> 3);
    const std::vector<PayloadFrame> frames = SplitPayload(*bytes, bytes);
    Bytes joined;
    for (const PayloadFrame& frame : frames) {
      EXPECT_LE(frame.data.size(), kPayloadFrameBytes);
      EXPECT_EQ(frame.owner, bytes);
      joined.insert(joined.end(), frame.data.begin(), frame.data.end());
    }
    EXPECT_EQ(joined, *bytes);
  }
}

}  // namespace
}  // namespace headrace::net
