#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/check.h"
#include "base/hash.h"
#include "base/pass/pass.h"
#include "dataworker/source/core/source_fixture.h"
#include "dataworker/worker/worker.h"
#include "gtest/gtest.h"
#include "net/descriptor_channel.h"
#include "net/reactor.h"
#include "schemas/wire/host_identity.h"
#include "schemas/wire/message.h"

// For tests of a whole worker: the worker on a reactor of its own, and a client that sends exactly
// what the test wants.
namespace headrace::dataworker {

// A PNG of RGB noise, made without a library: stored deflate blocks.
class TinyPng {
 public:
  static std::string Make(int height, int width, std::uint64_t seed) {
    std::string raw;
    for (int y = 0; y < height; ++y) {
      raw.push_back(0);  // filter: none
      for (int i = 0; i < width * 3; ++i) raw.push_back(static_cast<char>(MixBits(seed++)));
    }
    std::string png = "\x89PNG\r\n\x1a\n";
    png += Chunk("IHDR", Big(width) + Big(height) + std::string("\x08\x02\0\0\0", 5));
    png += Chunk("IDAT", Zlib(raw));
    return png + Chunk("IEND", "");
  }

 private:
  static std::string Big(std::uint32_t value) {
    std::string text;
    for (int shift = 24; shift >= 0; shift -= 8) text.push_back(static_cast<char>(value >> shift));
    return text;
  }
  static std::string Chunk(const std::string& type, const std::string& data) {
    std::uint32_t crc = 0xffffffffU;
    for (const char c : type + data) {
      crc ^= static_cast<unsigned char>(c);
      for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0xedb88320U : 0);
    }
    return Big(static_cast<std::uint32_t>(data.size())) + type + data + Big(~crc);
  }
  static std::string Zlib(const std::string& raw) {
    std::string out = "\x78\x01";
    for (std::size_t at = 0; at < raw.size(); at += 65535) {
      const std::string block = raw.substr(at, 65535);
      const auto size = static_cast<std::uint16_t>(block.size());
      out.push_back(at + 65535 >= raw.size() ? 1 : 0);
      for (const std::uint16_t half : {size, static_cast<std::uint16_t>(~size)}) {
        out.push_back(static_cast<char>(half & 255));
        out.push_back(static_cast<char>(half >> 8));
      }
      out += block;
    }
    std::uint32_t a = 1, b = 0;
    for (const char c : raw) {
      a = (a + static_cast<unsigned char>(c)) % 65521;
      b = (b + a) % 65521;
    }
    return out + Big((b << 16) | a);
  }
};

// Memory as a trainer's arena: a memfd sealed against shrinking.
class TestArena {
 public:
  explicit TestArena(std::size_t bytes) : fd_(::memfd_create("arena", MFD_ALLOW_SEALING)) {
    EXPECT_EQ(::ftruncate(fd_.get(), static_cast<off_t>(bytes)), 0);
    EXPECT_EQ(::fcntl(fd_.get(), F_ADD_SEALS, F_SEAL_SHRINK), 0);
    memory_ = {static_cast<std::byte*>(
                   ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_.get(), 0)),
               bytes};
  }
  TestArena(const TestArena&) = delete;
  TestArena& operator=(const TestArena&) = delete;
  ~TestArena() { ::munmap(memory_.data(), memory_.size()); }
  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] MutableByteSpan memory() const { return memory_; }

 private:
  UniqueFd fd_;
  MutableByteSpan memory_;
};

// Runs `task` on the reactor's thread and waits for it.
template <typename Task>
auto OnReactorThread(net::Reactor& reactor, Task task) {
  std::promise<decltype(task())> promise;
  reactor.Post([&] {
    if constexpr (std::is_void_v<decltype(task())>) {
      task();
      promise.set_value();
    } else {
      promise.set_value(task());
    }
  });
  return promise.get_future().get();
}

class TestWorker {
 public:
  explicit TestWorker(const std::string& listen = "", std::uint64_t cache_bytes = 0,
                      int threads = 2) {
    WorkerOptions options;
    options.listen = listen;
    options.threads = threads;
    options.cache_bytes = cache_bytes;
    Start(options, Clock::Real(), BuiltinCacheTiers(), BuiltinSources(),
          WorkerSurroundings::OfThisProcess());
  }
  explicit TestWorker(
      const WorkerOptions& options, Clock& clock = Clock::Real(),
      const CacheRegistry& tiers = BuiltinCacheTiers(),
      const SourceRegistry& sources = BuiltinSources(),
      const WorkerSurroundings& surroundings = WorkerSurroundings::OfThisProcess()) {
    Start(options, clock, tiers, sources, surroundings);
  }
  ~TestWorker() {
    OnReactorThread(*reactor_, [this] { worker_.reset(); });
    reactor_->Stop();
  }
  [[nodiscard]] net::Reactor& reactor() const { return *reactor_; }
  [[nodiscard]] std::string endpoint() const { return worker_->info().endpoints.front(); }
  [[nodiscard]] std::string arena_path() const { return worker_->info().arena_path; }
  // The token of a worker that has a coordinator, as that one heard it: clients made after it have
  // passes.
  void KnowToken(std::string token) { token_ = std::move(token); }
  [[nodiscard]] const std::string& token() const { return token_; }
  // Waits until the worker knows that it is registered; it beats after that.
  void AwaitRegistered() {
    while (!OnReactorThread(*reactor_, [this] { return worker_->id().valid(); })) {
      std::this_thread::yield();
    }
  }
  // Waits until the worker has followed this many directives.
  void AwaitDirectives(std::uint64_t count) {
    while (OnReactorThread(*reactor_, [this] { return worker_->directives(); }) < count) {
      std::this_thread::yield();
    }
  }
  [[nodiscard]] std::size_t open_rows() const { return worker_->reads().open_rows(); }
  [[nodiscard]] std::size_t waiting_rows() const { return worker_->reads().waiting_rows(); }
  [[nodiscard]] CacheStats cache() const { return worker_->cache_stats(); }
  void Leave() {
    OnReactorThread(*reactor_, [this] { worker_->Leave(std::chrono::seconds(10)); });
  }
  void WaitForEnd() { ended_.get_future().get(); }

 private:
  void Start(WorkerOptions options, Clock& clock, const CacheRegistry& tiers,
             const SourceRegistry& sources, const WorkerSurroundings& surroundings) {
    auto made = net::Reactor::Make("test-worker", clock);
    EXPECT_TRUE(made.ok());
    reactor_ = std::move(made).value();
    EXPECT_TRUE(reactor_->Start().ok());
    options.directory = directory_.path();
    if (options.listen.empty()) options.listen = "ipc://" + directory_.path() + "/data";
    if (options.threads == 0) options.threads = 2;
    const Status status = OnReactorThread(*reactor_, [&]() -> Status {
      HR_TRY(worker_, Worker::Start(
                          *reactor_, options, [this](Status) { ended_.set_value(); }, tiers,
                          sources, surroundings));
      return {};
    });
    EXPECT_TRUE(status.ok()) << status.ToString();
  }

  TemporaryDirectory directory_;
  std::string token_;
  std::promise<void> ended_;
  std::unique_ptr<net::Reactor> reactor_;
  std::unique_ptr<Worker> worker_;
};

// Sends what the test tells it, and keeps what it receives.
class TestClient {
 public:
  explicit TestClient(const TestWorker& worker) {
    auto made = net::Reactor::Make("test-client");
    EXPECT_TRUE(made.ok());
    reactor_ = std::move(made).value();
    EXPECT_TRUE(reactor_->Start().ok());
    OnReactorThread(*reactor_, [&] {
      net::SocketEvents events;
      events.on_message = [this](net::Incoming&& incoming) {
        const std::lock_guard lock(mutex_);
        heard_.push_back(std::move(incoming));
        changed_.notify_all();
      };
      events.on_invalid = [](const std::string&, const Status& error) {
        ADD_FAILURE() << error.ToString();
      };
      auto socket = reactor_->ConnectDealer(worker.endpoint(), std::move(events));
      EXPECT_TRUE(socket.ok()) << socket.status().ToString();
      socket_ = std::move(socket).value();
    });
    arena_path_ = worker.arena_path();
    token_ = worker.token();
  }
  ~TestClient() {
    OnReactorThread(*reactor_, [this] {
      channel_.reset();
      socket_.reset();
    });
    reactor_->Stop();
  }

  void Send(wire::Body body, std::vector<net::PayloadFrame> payload = {}) {
    OnReactorThread(*reactor_, [&] {
      const Status status = socket_->Send({}, body, std::move(payload));
      EXPECT_TRUE(status.ok()) << status.ToString();
    });
  }
  // Returns the next message of this type; drops others.
  template <typename Message>
  Message Next(Bytes* payload = nullptr) {
    std::unique_lock lock(mutex_);
    while (true) {
      while (!heard_.empty()) {
        net::Incoming incoming = std::move(heard_.front());
        heard_.pop_front();
        if (auto* found = std::get_if<Message>(&incoming.body)) {
          if (payload != nullptr) {
            payload->clear();
            for (const ByteSpan frame : incoming.payload) {
              payload->insert(payload->end(), frame.begin(), frame.end());
            }
          }
          return std::move(*found);
        }
      }
      if (changed_.wait_for(lock, std::chrono::seconds(60)) == std::cv_status::timeout) {
        ADD_FAILURE() << "no answer within a minute";
        return Message();
      }
    }
  }
  // Returns all messages of this type that come before the worker's answer to a Ping. By then the
  // worker has read all earlier messages. Others are dropped.
  template <typename Message>
  std::vector<Message> UntilPong() {
    Send(wire::Ping{++pings_});
    std::vector<Message> found;
    std::unique_lock lock(mutex_);
    while (true) {
      while (!heard_.empty()) {
        const net::Incoming incoming = std::move(heard_.front());
        heard_.pop_front();
        if (const auto* message = std::get_if<Message>(&incoming.body)) found.push_back(*message);
        const auto* pong = std::get_if<wire::Pong>(&incoming.body);
        if (pong != nullptr && pong->sequence == pings_) return found;
      }
      if (changed_.wait_for(lock, std::chrono::seconds(60)) == std::cv_status::timeout) {
        ADD_FAILURE() << "no answer within a minute";
        return found;
      }
    }
  }
  void PassDescriptor(const net::DescriptorMessage& message, int fd) {
    OnReactorThread(*reactor_, [&] {
      if (!channel_) {
        auto made = net::DescriptorConnection::Connect(*reactor_, arena_path_, [this] {
          if (on_hangup) on_hangup();
        });
        ASSERT_TRUE(made.ok()) << made.status().ToString();
        channel_ = std::move(made).value();
      }
      EXPECT_TRUE(channel_->Send(message, fd).ok());
    });
  }
  // Called on the reactor's thread when the worker has closed the channel. Set it before
  // PassDescriptor.
  std::function<void()> on_hangup;
  void HangUp() {
    OnReactorThread(*reactor_, [this] { channel_.reset(); });
  }

  // Attaches until the worker has the arena; sends the blobs that it asks for as messages. An Attach
  // without a pass gets one, where the worker wants them.
  wire::Attached Attach(wire::Attach attach, const std::map<BlobHash, Bytes>& blobs,
                        const TestArena* arena = nullptr) {
    if (arena != nullptr) {
      net::DescriptorMessage message;
      message.session = attach.session;
      message.bytes = arena->memory().size();
      PassDescriptor(message, arena->fd());
      attach.use_arena = true;
    }
    if (attach.pass.empty() && !token_.empty()) attach.pass = PassOf(token_, attach.job);
    wire::Attached answer;
    do {
      ++attach.request;
      Send(attach);
      answer = Next<wire::Attached>();
    } while (answer.status.ok() && attach.use_arena && !answer.use_arena);
    for (const BlobHash hash : answer.needed_blobs) {
      const auto copy = std::make_shared<const Bytes>(blobs.at(hash));
      Send(wire::BlobPart{attach.session, hash, copy->size(), 0}, {{*copy, copy}});
    }
    return answer;
  }

 private:
  std::unique_ptr<net::Reactor> reactor_;
  std::unique_ptr<net::Socket> socket_;
  std::unique_ptr<net::DescriptorConnection> channel_;
  std::string arena_path_;
  std::string token_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<net::Incoming> heard_;
  std::uint64_t pings_ = 0;
};

}  // namespace headrace::dataworker
