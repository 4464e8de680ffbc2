#include "net/keyring.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <sstream>

#include "net/test_util.h"
#include "net/zmq_socket_internal.h"

namespace headrace::net {
namespace {

using ::testing::HasSubstr;
using wire::Role;
namespace fs = std::filesystem;

constexpr std::chrono::seconds kPatience{20};
// A peer that is refused is silent. This is long after the time in which one is answered.
constexpr std::chrono::milliseconds kSilence{400};

class KeysTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = ::testing::TempDir() + "keysXXXXXX";
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
    ASSERT_TRUE(WriteKeys(Keys()).ok());
    ASSERT_TRUE(WriteKeys(Others()).ok());
  }
  void TearDown() override { fs::remove_all(root_); }
  [[nodiscard]] std::string Keys() const { return root_ + "/keys"; }
  [[nodiscard]] std::string Others() const { return root_ + "/others"; }
  static std::string Read(const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path).rdbuf();
    return text.str();
  }

  std::string root_;
};

// A server of one role that repeats what it hears: a StatusQuery is answered with a ClusterStatus.
class Server {
 public:
  Server(const std::string& directory, Role role) {
    auto made = MakeKeyedReactor("server", directory, {role});
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    reactor_ = std::move(made).value();
    SocketEvents events;
    events.on_message = [this](Incoming&& message) {
      {
        const std::lock_guard lock(mutex_);
        heard_.push_back({message.role, wire::TypeOf(message.body)});
      }
      changed_.notify_all();
      wire::ClusterStatus answer;
      (void)socket_->Send(message.peer, answer);
    };
    events.on_invalid = [this](const std::string&, const Status& error) {
      {
        const std::lock_guard lock(mutex_);
        refused_.push_back(error.message());
      }
      changed_.notify_all();
    };
    auto socket = reactor_->BindRouter("tcp://127.0.0.1:0", std::move(events));
    EXPECT_TRUE(socket.ok()) << socket.status().ToString();
    socket_ = std::move(socket).value();
    endpoint_ = socket_->endpoint();
    EXPECT_TRUE(reactor_->Start().ok());
  }
  ~Server() {
    net::testing::RunOn(*reactor_, [this] { socket_.reset(); });
    reactor_->Stop();
  }
  using Heard = std::pair<Role, wire::MessageType>;
  // Waits until it has heard or refused so many messages together.
  void Await(std::size_t messages) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kPatience,
                                  [&] { return heard_.size() + refused_.size() >= messages; }));
  }
  [[nodiscard]] std::vector<Heard> heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  [[nodiscard]] std::vector<std::string> refused() {
    const std::lock_guard lock(mutex_);
    return refused_;
  }
  [[nodiscard]] const std::string& endpoint() const { return endpoint_; }

 private:
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Socket> socket_;
  std::string endpoint_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<Heard> heard_;
  std::vector<std::string> refused_;
};

class Peer {
 public:
  Peer(const std::string& directory, Role role, const std::string& endpoint,
       Role server = Role::kCoordinator) {
    auto made = MakeKeyedReactor("peer", directory, {role});
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    reactor_ = std::move(made).value();
    SocketEvents events;
    events.server = server;
    events.on_message = [this](Incoming&&) { Count(answers_); };
    events.on_invalid = [this](const std::string&, const Status&) { Count(invalid_); };
    auto socket = reactor_->ConnectDealer(endpoint, std::move(events));
    EXPECT_TRUE(socket.ok()) << socket.status().ToString();
    socket_ = std::move(socket).value();
    EXPECT_TRUE(reactor_->Start().ok());
  }
  ~Peer() {
    net::testing::RunOn(*reactor_, [this] { socket_.reset(); });
    reactor_->Stop();
  }
  void Send(const wire::Body& body) {
    net::testing::RunOn(*reactor_, [&] { EXPECT_TRUE(socket_->Send({}, body).ok()); });
  }
  // The same to a server of the other kind, plain or keyed. libzmq drops such a connection for good,
  // soon or late, and a socket without one sends nothing: whether this fails is not known.
  void SendToTheOtherKind(const wire::Body& body) {
    net::testing::RunOn(*reactor_, [&] { (void)socket_->Send({}, body); });
  }
  [[nodiscard]] bool Answered(std::chrono::milliseconds within) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, within, [this] { return answers_ > 0; });
  }
  [[nodiscard]] bool AnsweredInvalid() {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [this] { return invalid_ > 0; });
  }

 private:
  void Count(int& what) {
    {
      const std::lock_guard lock(mutex_);
      ++what;
    }
    changed_.notify_all();
  }
  std::unique_ptr<Reactor> reactor_;
  std::unique_ptr<Socket> socket_;
  std::mutex mutex_;
  std::condition_variable changed_;
  int answers_ = 0;
  int invalid_ = 0;
};

TEST_F(KeysTest, AKnownKeyIsAnsweredAndItsRoleIsTold) {
  Server server(Keys(), Role::kCoordinator);
  Peer peer(Keys(), Role::kObserver, server.endpoint());
  peer.Send(wire::StatusQuery{});
  EXPECT_TRUE(peer.Answered(kPatience));
  EXPECT_THAT(server.heard(), ::testing::ElementsAre(
                                  Server::Heard{Role::kObserver, wire::MessageType::kStatusQuery}));
}

TEST_F(KeysTest, AnUnknownKeyGetsNothingAndOneLineIsLogged) {
  Server server(Keys(), Role::kCoordinator);
  // It knows the server's key, and has a key of its own that nobody admits.
  fs::copy_file(Keys() + "/allow", Others() + "/allow", fs::copy_options::overwrite_existing);
  ::testing::internal::CaptureStderr();
  Peer peer(Others(), Role::kTrainer, server.endpoint());
  peer.Send(wire::StatusQuery{});
  EXPECT_FALSE(peer.Answered(kSilence));
  const std::string log = ::testing::internal::GetCapturedStderr();
  EXPECT_THAT(log, HasSubstr("a peer was refused"));
  EXPECT_THAT(log, HasSubstr("127.0.0.1"));
  EXPECT_EQ(log.find("a peer was refused"), log.rfind("a peer was refused")) << log;
  EXPECT_THAT(server.heard(), ::testing::IsEmpty());
  EXPECT_THAT(server.refused(), ::testing::IsEmpty());
}

TEST_F(KeysTest, TheListIsReadAgainWhenItChanges) {
  Server server(Keys(), Role::kCoordinator);
  const std::string theirs = Read(Others() + "/trainer.key").substr(0, 40);
  fs::copy_file(Keys() + "/allow", Others() + "/allow", fs::copy_options::overwrite_existing);
  Peer peer(Others(), Role::kTrainer, server.endpoint());
  peer.Send(wire::StatusQuery{});
  EXPECT_FALSE(peer.Answered(kSilence));
  std::ofstream(Keys() + "/allow", std::ios::app) << "trainer " << theirs << "\n";
  EXPECT_TRUE(peer.Answered(kPatience));  // it comes again by itself
}

TEST_F(KeysTest, AKeyThatLeftTheListIsRefused) {
  Server server(Keys(), Role::kCoordinator);
  std::istringstream lines(Read(Keys() + "/allow"));
  std::ofstream without(Keys() + "/allow");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("trainer")) without << line << "\n";
  }
  without.close();
  Peer peer(Keys(), Role::kTrainer, server.endpoint());
  peer.Send(wire::StatusQuery{});
  EXPECT_FALSE(peer.Answered(kSilence));
}

TEST_F(KeysTest, AListThatOthersMayWriteAdmitsNobody) {
  Server server(Keys(), Role::kCoordinator);
  fs::copy(Keys(), root_ + "/copy");
  fs::permissions(Keys() + "/allow", fs::perms::group_write, fs::perm_options::add);
  Peer peer(root_ + "/copy", Role::kTrainer, server.endpoint());
  peer.Send(wire::StatusQuery{});
  EXPECT_FALSE(peer.Answered(kSilence));
  EXPECT_THAT(Keyring::Open(Keys(), {Role::kTrainer}).status().message(), HasSubstr("chmod 600"));
}

TEST_F(KeysTest, APlainPeerAndAKeyedServerDoNotTalk) {
  Server server(Keys(), Role::kCoordinator);
  Peer plain("", Role::kTrainer, server.endpoint());
  plain.SendToTheOtherKind(wire::StatusQuery{});
  EXPECT_FALSE(plain.Answered(kSilence));
  Server open("", Role::kCoordinator);
  Peer keyed(Keys(), Role::kTrainer, open.endpoint());
  keyed.SendToTheOtherKind(wire::StatusQuery{});
  EXPECT_FALSE(keyed.Answered(kSilence));
  EXPECT_THAT(server.heard(), ::testing::IsEmpty());
  EXPECT_THAT(open.heard(), ::testing::IsEmpty());
}

// libzmq alone would hand over the frames of everybody who knows the server's key.
TEST_F(KeysTest, WhileNobodyAnswersForAdmissionNothingComesIn) {
  auto keys = Keyring::Open(Keys(), {Role::kCoordinator});
  ASSERT_TRUE(keys.ok());
  auto server = ZmqSocket::Bind(MakeContext(1, *keys), "tcp://127.0.0.1:*", SIZE_MAX);
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  Peer peer(Keys(), Role::kTrainer, (*server)->endpoint());
  peer.Send(wire::StatusQuery{});
  EXPECT_FALSE(peer.Answered(kSilence));
  Incoming message;
  Status error;
  EXPECT_EQ((*server)->Receive(message, error), ZmqSocket::Received::kNothing) << error.ToString();
}

TEST_F(KeysTest, OnlyItsUserConnectsToAUnixSocket) {
  const std::string path = root_ + "/control";
  const mode_t before = ::umask(0);
  auto server = ZmqSocket::Bind(MakeContext(1, nullptr), "ipc://" + path, SIZE_MAX);
  ::umask(before);
  ASSERT_TRUE(server.ok()) << server.status().ToString();
  EXPECT_EQ(fs::status(path).permissions(), fs::perms::owner_read | fs::perms::owner_write);
  EXPECT_TRUE(ZmqSocket::Bind(MakeContext(1, nullptr),
                              "ipc://@headrace-test-" + std::to_string(::getpid()), SIZE_MAX)
                  .ok());
}

TEST_F(KeysTest, AServerWithAnotherKeyIsNotTalkedTo) {
  // A man in the middle, who admits everybody of the cluster.
  fs::copy_file(Keys() + "/allow", Others() + "/allow", fs::copy_options::overwrite_existing);
  Server server(Others(), Role::kCoordinator);
  Peer peer(Keys(), Role::kTrainer, server.endpoint());
  peer.Send(wire::StatusQuery{});
  EXPECT_FALSE(peer.Answered(kSilence));
  EXPECT_THAT(server.heard(), ::testing::IsEmpty());
}

TEST_F(KeysTest, AWorkerCannotStandForTheCoordinator) {
  Server server(Keys(), Role::kWorker);
  Peer peer(Keys(), Role::kTrainer, server.endpoint());
  peer.Send(wire::StatusQuery{});
  EXPECT_FALSE(peer.Answered(kSilence));
  // Where a worker is expected it is heard, and may not speak as the coordinator.
  Peer other(Keys(), Role::kTrainer, server.endpoint(), Role::kWorker);
  other.Send(wire::StatusQuery{});
  EXPECT_TRUE(other.AnsweredInvalid());
}

template <std::size_t... I>
std::vector<wire::Body> BodiesOf(std::index_sequence<I...>) {
  return {wire::Body(std::in_place_index<I>)...};
}

// Over the wire: each role sends each message.
TEST_F(KeysTest, AMessageThatARoleMayNotSendIsRefused) {
  const auto bodies = BodiesOf(std::make_index_sequence<std::variant_size_v<wire::Body>>());
  for (const Role role : wire::kKeyRoles) {
    Server server(Keys(), Role::kCoordinator);
    Peer peer(Keys(), role, server.endpoint());
    for (const wire::Body& body : bodies) peer.Send(body);
    server.Await(bodies.size());
    const auto heard = server.heard();
    for (const auto& [from, type] : heard) {
      EXPECT_EQ(from, role);
      EXPECT_TRUE(wire::MaySend(role, type)) << wire::RoleName(role) << wire::MessageName(type);
    }
    const std::vector<std::string> refused = server.refused();
    for (const wire::Body& body : bodies) {
      const std::string name(wire::MessageName(wire::TypeOf(body)));
      if (wire::MaySend(role, wire::TypeOf(body))) continue;
      EXPECT_THAT(refused, ::testing::Contains(::testing::EndsWith("may not send " + name)))
          << wire::RoleName(role);
    }
  }
}

TEST_F(KeysTest, FilesAreTheOwnersAloneAndNeverReplaced) {
  EXPECT_EQ(fs::status(Keys()).permissions(), fs::perms::owner_all);
  for (const auto& file : fs::directory_iterator(Keys())) {
    EXPECT_EQ(file.status().permissions(), fs::perms::owner_read | fs::perms::owner_write)
        << file.path();
  }
  EXPECT_THAT(WriteKeys(Keys()).message(), HasSubstr("never replaced"));
}

TEST_F(KeysTest, FilesWithOtherModesAreRefused) {
  const auto refusal = [&] { return Keyring::Open(Keys(), {Role::kTrainer}).status(); };
  ASSERT_TRUE(refusal().ok());
  using Wrong = std::pair<std::string, fs::perms>;
  for (const auto& [name, wrong] :
       {Wrong{"/trainer.key", fs::perms::others_read},
        Wrong{"/trainer.key", fs::perms::group_write}, Wrong{"/allow", fs::perms::others_write}}) {
    fs::permissions(Keys() + name, wrong, fs::perm_options::add);
    EXPECT_EQ(refusal().code(), Code::kInvalidArgument);
    EXPECT_THAT(refusal().message(),
                ::testing::AllOf(HasSubstr(Keys() + name), HasSubstr("chmod 600")));
    fs::permissions(Keys() + name, wrong, fs::perm_options::remove);
  }
  ASSERT_TRUE(refusal().ok());
  fs::permissions(Keys(), fs::perms::others_write, fs::perm_options::add);
  EXPECT_THAT(refusal().message(), HasSubstr("chmod 700"));
}

// As Kubernetes mounts a secret: a sticky directory that all may write, and links to the files.
TEST_F(KeysTest, AMountedSecretIsTaken) {
  const std::string mount = root_ + "/mount";
  fs::create_directories(mount + "/..2026");
  fs::create_directory_symlink("..2026", mount + "/..data");
  for (const std::string name : {"allow", "trainer.key"}) {
    fs::copy_file(Keys() + "/" + name, mount + "/..2026/" + name);
    fs::create_symlink("..data/" + name, mount + "/" + name);
  }
  fs::permissions(mount + "/allow", fs::perms::others_read, fs::perm_options::add);
  fs::permissions(mount, fs::perms::all | fs::perms::sticky_bit);
  const auto opened = Keyring::Open(mount, {Role::kTrainer});
  EXPECT_TRUE(opened.ok()) << opened.status().ToString();
  fs::permissions(mount + "/..2026/trainer.key", fs::perms::others_read, fs::perm_options::add);
  EXPECT_THAT(Keyring::Open(mount, {Role::kTrainer}).status().message(), HasSubstr("chmod 600"));
}

TEST_F(KeysTest, DamagedFilesAreNamed) {
  std::ofstream(Keys() + "/trainer.key")
      << Read(Keys() + "/admin.key").substr(0, 41) << Read(Keys() + "/worker.key").substr(41);
  EXPECT_THAT(Keyring::Open(Keys(), {Role::kTrainer}).status().message(), HasSubstr("no key pair"));
  std::ofstream(Keys() + "/allow") << "# words\nking " << std::string(40, 'x') << "\n";
  EXPECT_THAT(Keyring::Open(Keys(), {Role::kWorker}).status().message(), HasSubstr("allow:2"));
  fs::remove(Keys() + "/worker.key");
  EXPECT_EQ(Keyring::Open(Keys(), {Role::kWorker}).status().code(), Code::kNotFound);
  EXPECT_THAT(Keyring::Open(root_ + "/none", {Role::kWorker}).status().message(),
              HasSubstr("headrace keys"));
}

}  // namespace
}  // namespace headrace::net
