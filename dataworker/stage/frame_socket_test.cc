// The frames between a worker and its Python processes: their bytes, and what is no frame.
#include "dataworker/stage/frame_socket.h"

#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "base/version.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Bytes FromHex(const std::string& hex) {
  Bytes bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes.push_back(static_cast<std::byte>(std::stoi(hex.substr(i, 2), nullptr, 16)));
  }
  return bytes;
}

struct Golden {
  std::string name;
  std::uint32_t kind = 0;
  Bytes frame;
  std::vector<Bytes> parts;
};

std::vector<Golden> GoldenFrames() {
  std::ifstream file(HEADRACE_SOURCE_DIR "/dataworker/stage/golden_frames.txt");
  std::vector<Golden> all;
  for (std::string line; std::getline(file, line);) {
    if (line.empty() || line[0] == '#') continue;
    std::istringstream words(line);
    Golden& golden = all.emplace_back();
    std::string hex;
    words >> golden.name >> golden.kind >> hex;
    golden.frame = FromHex(hex);
    for (std::string part; words >> part;) golden.parts.push_back(FromHex(part == "-" ? "" : part));
  }
  EXPECT_GE(all.size(), 6U);
  return all;
}

class FrameSocketTest : public ::testing::Test {
 protected:
  FrameSocketTest() {
    auto pair = FrameSocket::MakePair();
    EXPECT_TRUE(pair.ok());
    socket_ = std::make_unique<FrameSocket>(std::move(pair->first));
    peer_ = std::move(pair->second);
  }
  void Say(ByteSpan bytes) const {
    EXPECT_EQ(::write(peer_.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  }
  Status Receive() {
    return socket_->Receive([this](StageFrame&& frame) { frames_.push_back(std::move(frame)); });
  }

  std::unique_ptr<FrameSocket> socket_;
  UniqueFd peer_;
  std::vector<StageFrame> frames_;
};

TEST_F(FrameSocketTest, FramesAreThoseThatWereFrozen) {
  for (const Golden& golden : GoldenFrames()) {
    const std::vector<ByteSpan> parts(golden.parts.begin(), golden.parts.end());
    EXPECT_EQ(EncodeStageFrame(static_cast<StageMessage>(golden.kind), parts), golden.frame)
        << golden.name;
  }
}

TEST_F(FrameSocketTest, FrozenFramesAreRead) {
  std::size_t heard = 0;
  for (const Golden& golden : GoldenFrames()) {
    Say(golden.frame);
    ASSERT_TRUE(Receive().ok()) << golden.name;
    if (golden.name == "hello") continue;  // names the release
    ASSERT_EQ(frames_.size(), ++heard) << golden.name;
    EXPECT_EQ(static_cast<std::uint32_t>(frames_.back().kind), golden.kind);
    EXPECT_EQ(frames_.back().parts, golden.parts);
  }
  EXPECT_THAT(socket_->Releases(), AllOf(HasSubstr(kVersion), HasSubstr("release 0.1.0")));
}

TEST_F(FrameSocketTest, AnotherProtocolIsRefusedAndBothReleasesNamed) {
  const std::array<ByteSpan, 1> release{AsBytes(std::string_view("9.9.9"))};
  Bytes hello = EncodeStageFrame(StageMessage::kHello, release);
  hello[3] = std::byte{kStageProtocol + 1};
  Say(hello);
  const Status status = Receive();
  EXPECT_EQ(status.code(), Code::kInvalidArgument);
  EXPECT_THAT(status.message(), AllOf(HasSubstr("9.9.9"), HasSubstr(kVersion),
                                      HasSubstr(std::to_string(kStageProtocol + 1))));
}

TEST_F(FrameSocketTest, WhatIsNoFrameIsRefused) {
  Say(AsBytes(std::string_view("GET / HTTP/1.1\r\n\r\n")));
  EXPECT_EQ(Receive().code(), Code::kInvalidArgument);
  EXPECT_TRUE(frames_.empty());
}

}  // namespace
}  // namespace headrace::dataworker
