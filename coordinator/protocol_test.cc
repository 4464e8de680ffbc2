#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <optional>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "base/version.h"
#include "coordinator/coordinator.h"
#include "coordinator/test_peer.h"

// Tests what a coordinator answers to peers of another protocol, and to noise. It writes TCP by
// hand, because our own sockets send only valid messages. Source: ZMTP 3.0,
// https://rfc.zeromq.org/spec/23/
namespace headrace::coordinator {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class RawDealer {
 public:
  explicit RawDealer(int port) : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<std::uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    const timeval patience{10, 0};
    ::setsockopt(fd_.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
    connected_ = ::connect(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
    std::string greeting("\xff\0\0\0\0\0\0\0\0\x7f\3\0NULL", 16);
    greeting.resize(64, '\0');
    Write(greeting);
    const std::string ready("\5READY\13Socket-Type\0\0\0\6DEALER", 28);
    std::string command = "\4";  // in parts: GCC 12 takes their sum for an overflow at -O1
    command += static_cast<char>(ready.size());
    command += ready;
    Write(command);
    Read(64);
    ReadFrame();  // its READY
  }
  [[nodiscard]] bool connected() const { return connected_; }

  void Send(const std::vector<std::string>& frames) {
    for (std::size_t i = 0; i < frames.size(); ++i) {
      const char more = i + 1 < frames.size() ? 1 : 0;
      Write(std::string(1, more) + static_cast<char>(frames[i].size()) + frames[i]);
    }
  }
  // A frame of the peer; empty if none comes within 10 s.
  std::string ReadFrame() {
    const std::string flags = Read(1);
    if (flags.empty()) return {};
    std::size_t size = 0;
    for (const char c : Read((flags[0] & 2) != 0 ? 8 : 1)) {
      size = size << 8 | static_cast<unsigned char>(c);
    }
    return Read(size);
  }

 private:
  void Write(const std::string& bytes) {
    connected_ = connected_ && ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                                   static_cast<ssize_t>(bytes.size());
  }
  std::string Read(std::size_t size) {
    std::string bytes(size, '\0');
    const ssize_t got = ::recv(fd_.get(), bytes.data(), size, MSG_WAITALL);
    return got == static_cast<ssize_t>(size) ? bytes : std::string();
  }

  UniqueFd fd_;
  bool connected_ = false;
};

class ProtocolTest : public testing::Test {
 protected:
  void SetUp() override {
    reactor_ = std::move(net::Reactor::Make("coordinator")).value();
    CoordinatorOptions options;
    options.listen = "tcp://127.0.0.1:0";
    auto made = Coordinator::Make(*reactor_, options);
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    coordinator_ = std::move(made).value();
    ASSERT_TRUE(reactor_->Start().ok());
  }
  void TearDown() override {
    reactor_->Stop();
    coordinator_.reset();
  }
  [[nodiscard]] int Port() const {
    const std::string& endpoint = coordinator_->endpoint();
    return std::stoi(endpoint.substr(endpoint.rfind(':') + 1));
  }
  static std::optional<wire::ClusterStatus> ReadStatus(RawDealer& peer) {
    const std::string header = peer.ReadFrame();
    const std::string body = peer.ReadFrame();
    const Result<wire::Body> answer = wire::Decode(AsBytes(header), AsBytes(body));
    EXPECT_TRUE(answer.ok()) << answer.status().ToString();
    if (!answer.ok() || !std::holds_alternative<wire::ClusterStatus>(*answer)) return std::nullopt;
    return std::get<wire::ClusterStatus>(*answer);
  }
  static std::string Text(ByteSpan bytes) { return std::string(AsText(bytes)); }

  std::unique_ptr<net::Reactor> reactor_;
  std::unique_ptr<Coordinator> coordinator_;
};

TEST_F(ProtocolTest, AnotherProtocolIsRefusedWithBothVersions) {
  RawDealer peer(Port());
  ASSERT_TRUE(peer.connected());
  wire::EncodedMessage query = wire::Encode(wire::StatusQuery{1});
  query.header[3] = std::byte{wire::kWireVersion + 6};
  peer.Send({Text(query.header), Text(query.body)});
  const std::optional<wire::ClusterStatus> status = ReadStatus(peer);
  ASSERT_TRUE(status.has_value());
  EXPECT_EQ(status->status.code(), Code::kOtherRelease);
  EXPECT_THAT(status->status.message(),
              AllOf(HasSubstr(std::to_string(wire::kWireVersion + 6)),
                    HasSubstr(std::to_string(wire::kWireVersion)), HasSubstr("version")));
}

TEST_F(ProtocolTest, NoiseIsNotAnsweredAndHarmsNobody) {
  RawDealer peer(Port());
  ASSERT_TRUE(peer.connected());
  wire::EncodedMessage query = wire::Encode(wire::StatusQuery{7});
  peer.Send({"noise"});
  peer.Send({"", ""});
  peer.Send({Text(query.header), std::string(100, '\xee')});
  peer.Send({Text(query.header), Text(query.body)});
  const std::optional<wire::ClusterStatus> status = ReadStatus(peer);
  ASSERT_TRUE(status.has_value());
  EXPECT_TRUE(status->status.ok());
  EXPECT_EQ(status->request, 7U) << "the first answer is that to the valid question";
  EXPECT_EQ(status->version, kVersion);
}

}  // namespace
}  // namespace headrace::coordinator
