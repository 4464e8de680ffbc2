#include "net/descriptor_channel.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <thread>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::net {
namespace {

using ::testing::HasSubstr;

UniqueFd Memory(std::size_t bytes, int seals) {
  UniqueFd fd(memfd_create("test", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  EXPECT_EQ(ftruncate(fd.get(), static_cast<off_t>(bytes)), 0);
  EXPECT_EQ(fcntl(fd.get(), F_ADD_SEALS, seals), 0);
  return fd;
}

struct DescriptorChannel : ::testing::Test {
  std::string path = ::testing::TempDir() + "/hr_fd_" + std::to_string(getpid());
  std::unique_ptr<Reactor> reactor = std::move(Reactor::Make("test")).value();
  std::vector<DescriptorMessage> messages;
  std::vector<UniqueFd> fds;
  int hangups = 0;
  std::unique_ptr<DescriptorListener> listener;

  void Listen() {
    auto made = DescriptorListener::Listen(
        *reactor, path,
        [this](std::uint64_t connection, const DescriptorMessage& message, UniqueFd fd) {
          EXPECT_GT(connection, 0u);
          messages.push_back(message);
          fds.push_back(std::move(fd));
          reactor->Stop();
        },
        [this](std::uint64_t) {
          ++hangups;
          reactor->Stop();
        });
    ASSERT_TRUE(made.ok()) << made.status().ToString();
    listener = std::move(made).value();
  }
  std::unique_ptr<DescriptorConnection> Connect(std::function<void()> on_hangup = {}) {
    auto made = DescriptorConnection::Connect(*reactor, path, std::move(on_hangup));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  // A connection that sends what the test wants.
  [[nodiscard]] UniqueFd ConnectRaw() const {
    UniqueFd raw(socket(AF_UNIX, SOCK_SEQPACKET, 0));
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    path.copy(address.sun_path, sizeof(address.sun_path) - 1);
    EXPECT_EQ(connect(raw.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    return raw;
  }
  // Expects that the listener hangs up on the peer that sends this.
  void ExpectRefused(const DescriptorMessage& message, int fd) {
    Listen();
    auto connection = Connect();
    ASSERT_TRUE(connection->Send(message, fd).ok());
    ASSERT_TRUE(reactor->Run().ok());
    EXPECT_TRUE(messages.empty());
    EXPECT_EQ(hangups, 1);
  }
};

DescriptorMessage Arena(std::uint64_t bytes) {
  return {.kind = DescriptorMessage::Kind::kArena,
          .session = SessionId(5),
          .hash = BlobHash(),
          .bytes = bytes};
}

TEST_F(DescriptorChannel, MemoryIsSharedAfterItsDescriptorWasPassed) {
  Listen();
  auto connection = Connect();
  const UniqueFd memory = Memory(8192, F_SEAL_SHRINK);
  ASSERT_TRUE(connection->Send(Arena(8192), memory.get()).ok());
  ASSERT_TRUE(reactor->Run().ok());
  ASSERT_EQ(messages.size(), 1u);
  EXPECT_EQ(messages[0].session, SessionId(5));
  EXPECT_EQ(messages[0].bytes, 8192u);
  ASSERT_EQ(pwrite(fds[0].get(), "abc", 3, 100), 3);
  char text[4] = {};
  ASSERT_EQ(pread(memory.get(), text, 3, 100), 3);
  EXPECT_STREQ(text, "abc");
}

TEST_F(DescriptorChannel, DeathOfTheTrainerIsAHangup) {
  Listen();
  Connect().reset();
  ASSERT_TRUE(reactor->Run().ok());
  EXPECT_EQ(hangups, 1);
}

TEST_F(DescriptorChannel, DeathOfTheWorkerIsAHangupAndMayEndTheConnection) {
  Listen();
  std::unique_ptr<DescriptorConnection> connection;
  connection = Connect([&] {
    connection.reset();
    reactor->Stop();
  });
  reactor->Post([&] { reactor->Post([&] { listener.reset(); }); });
  ASSERT_TRUE(reactor->Run().ok());
  EXPECT_EQ(connection, nullptr);
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_F(DescriptorChannel, HangupWaitsForTheLastHandleOnTheConnection) {
  Listen();
  const UniqueFd raw = ConnectRaw();
  UniqueFd handle;
  reactor->AddOnce(std::chrono::milliseconds(50), [&] {  // accepted in the first turn
    EXPECT_EQ(listener->Hold(99).status().code(), Code::kNotFound);
    auto held = listener->Hold(1);
    EXPECT_TRUE(held.ok()) << held.status().ToString();
    if (held.ok()) handle = std::move(held).value();
    listener.reset();
    reactor->Stop();
  });
  ASSERT_TRUE(reactor->Run().ok());
  char ignored = 0;
  EXPECT_EQ(recv(raw.get(), &ignored, 1, MSG_DONTWAIT), -1);
  handle.reset();
  EXPECT_EQ(recv(raw.get(), &ignored, 1, MSG_DONTWAIT), 0);
}

TEST_F(DescriptorChannel, FinishMakesTheOtherSideLetGo) {
  const auto listening = DescriptorListener::Listen(
      *reactor, path, [](std::uint64_t, const DescriptorMessage&, const UniqueFd&) {},
      [this](std::uint64_t) { ++hangups; });
  ASSERT_TRUE(listening.ok()) << listening.status().ToString();
  const auto connection = Connect([&] { reactor->Stop(); });
  connection->Finish();
  ASSERT_TRUE(reactor->Run().ok());
  EXPECT_EQ(hangups, 1);
}

TEST_F(DescriptorChannel, UnsealedMemoryIsRefused) {
  const UniqueFd memory = Memory(4096, F_SEAL_GROW);
  ExpectRefused(Arena(4096), memory.get());
}

TEST_F(DescriptorChannel, MemorySmallerThanAnnouncedIsRefused) {
  const UniqueFd memory = Memory(4096, F_SEAL_SHRINK);
  ExpectRefused(Arena(4097), memory.get());
}

TEST_F(DescriptorChannel, FileIsRefused) {
  const UniqueFd file(open("/dev/null", O_RDWR));
  ExpectRefused(Arena(1), file.get());
}

TEST_F(DescriptorChannel, PacketWithoutDescriptorIsRefused) {
  Listen();
  const UniqueFd raw = ConnectRaw();
  ASSERT_EQ(send(raw.get(), "hello", 5, 0), 5);
  ASSERT_TRUE(reactor->Run().ok());
  EXPECT_EQ(hangups, 1);
}

// Another user who reaches the socket all the same, for example because its mode and folder
// changed.
class StrangeUser : public DescriptorChannel {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "only root can become another user";
  }
  // Runs `task` on a thread that has become another user, which Linux keeps for each thread.
  template <typename Task>
  static void AsAnother(Task task) {
    constexpr uid_t kNobody = 65534;
    std::thread([&] {
      ASSERT_EQ(syscall(SYS_setresuid, -1, kNobody, -1), 0);
      task();
    }).join();
  }
};

TEST_F(StrangeUser, IsHungUpOn) {
  Listen();
  ASSERT_EQ(chmod(path.c_str(), 0666), 0);
  UniqueFd stranger, own = ConnectRaw();
  AsAnother([&] { stranger = ConnectRaw(); });
  // The listener accepts both in turn before it hears of the first's end.
  own = UniqueFd();
  ASSERT_TRUE(reactor->Run().ok());
  EXPECT_EQ(hangups, 1);
  pollfd ended{.fd = stranger.get(), .events = POLLIN, .revents = 0};
  EXPECT_EQ(poll(&ended, 1, 0), 1) << "it was let in";
  EXPECT_NE(ended.revents & POLLHUP, 0);
}

TEST_F(StrangeUser, WhoServesThePathIsNotGivenMemory) {
  const std::string folder = ::testing::TempDir() + "/hr_other_" + std::to_string(getpid());
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  ASSERT_EQ(chmod(folder.c_str(), 0777), 0);
  path = folder + "/served";
  UniqueFd server(socket(AF_UNIX, SOCK_SEQPACKET, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  AsAnother([&] {
    ASSERT_EQ(bind(server.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
    ASSERT_EQ(listen(server.get(), 1), 0);
  });
  const auto made = DescriptorConnection::Connect(*reactor, path, {});
  EXPECT_EQ(made.status().code(), Code::kUnavailable);
  EXPECT_THAT(made.status().message(), HasSubstr(path + " is served by another user"));
  std::filesystem::remove_all(folder);
}

TEST_F(DescriptorChannel, ListenerWithoutDescriptorsWaitsAndTakesTheConnectionLater) {
  Listen();
  auto connection = Connect();
  const UniqueFd memory = Memory(4096, F_SEAL_SHRINK);
  ASSERT_TRUE(connection->Send(Arena(4096), memory.get()).ok());
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  reactor->AddOnce(std::chrono::milliseconds(50),
                   [&] { EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0); });
  ASSERT_TRUE(reactor->Run().ok());
  EXPECT_EQ(messages.size(), 1u);
}

TEST_F(DescriptorChannel, PathOfALiveProcessIsNotTaken) {
  Listen();
  const Status status = DescriptorListener::Listen(*reactor, path, {}, {}).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("in use"));
}

TEST_F(DescriptorChannel, PathOfADeadProcessIsTaken) {
  const UniqueFd dead(socket(AF_UNIX, SOCK_SEQPACKET, 0));
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  path.copy(address.sun_path, sizeof(address.sun_path) - 1);
  ASSERT_EQ(bind(dead.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address)), 0);
  Listen();
}

TEST_F(DescriptorChannel, FileAtThePathIsLeftAlone) {
  std::ofstream(path) << "mine";
  const Status status = DescriptorListener::Listen(*reactor, path, {}, {}).status();
  EXPECT_THAT(status.message(), HasSubstr("not a socket"));
  EXPECT_TRUE(std::filesystem::exists(path));
  std::filesystem::remove(path);
}

TEST_F(DescriptorChannel, MissingListenerAndLongPathAreUnavailable) {
  EXPECT_EQ(DescriptorConnection::Connect(*reactor, path, {}).status().code(), Code::kUnavailable);
  path = std::string(121, 'x');
  const Status status = DescriptorListener::Listen(*reactor, path, {}, {}).status();
  EXPECT_EQ(status.code(), Code::kUnavailable);
  EXPECT_THAT(status.message(), HasSubstr("107"));
}

}  // namespace
}  // namespace headrace::net
