#include "tests/simulation/sim_descriptors.h"

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <array>
#include <utility>

#include "base/check.h"

namespace headrace::simulation {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;

constexpr Duration kMost = microseconds(200);
constexpr Duration kLookAgain = milliseconds(1);

UniqueFd Copy(int fd) {
  UniqueFd copy(::fcntl(fd, F_DUPFD_CLOEXEC, 0));
  HR_CHECK(copy.valid());
  return copy;
}

}  // namespace

struct SimDescriptors::Channel {
  std::uint64_t number = 0;
  std::shared_ptr<SimProcess> client;
  std::shared_ptr<Server> server;
  UniqueFd end;     // read end of the pipe
  UniqueFd handle;  // the listener's write end; invalid: it has let go
  std::function<void()> on_hangup;
  SteadyTime last{};
  bool finished = false;  // by the client
};

struct SimDescriptors::Server {
  std::shared_ptr<SimProcess> process;
  net::DescriptorListener::OnDescriptor on_descriptor;
  net::DescriptorListener::OnHangup on_hangup;
  std::map<std::uint64_t, std::shared_ptr<Channel>> channels;
  bool closed = false;
};

class SimDescriptors::Listener final : public net::DescriptorListener {
 public:
  Listener(SimDescriptors& all, std::string key, std::shared_ptr<Server> server)
      : all_(all), key_(std::move(key)), server_(std::move(server)) {}
  ~Listener() override {
    server_->closed = true;
    const auto found = all_.servers_.find(key_);
    if (found != all_.servers_.end() && found->second == server_) all_.servers_.erase(found);
    for (auto& [number, channel] : std::exchange(server_->channels, {})) {
      channel->handle.reset();
      all_.WatchEnd(channel);
    }
  }
  [[nodiscard]] Result<UniqueFd> Hold(std::uint64_t connection) const override {
    const auto found = server_->channels.find(connection);
    if (found == server_->channels.end()) return NotFound("the connection is closed");
    return Copy(found->second->handle.get());
  }

 private:
  SimDescriptors& all_;
  const std::string key_;
  const std::shared_ptr<Server> server_;
};

class SimDescriptors::Connection final : public net::DescriptorConnection {
 public:
  Connection(SimDescriptors& all, std::shared_ptr<Channel> channel)
      : all_(all), channel_(std::move(channel)) {}
  ~Connection() override {
    channel_->on_hangup = nullptr;
    all_.HangUp(channel_);
  }
  Status Send(const net::DescriptorMessage& message, int fd) override {
    if (channel_->finished || channel_->server->closed || !channel_->handle.valid()) {
      return Unavailable("the peer is gone");
    }
    const auto copy = std::make_shared<UniqueFd>(Copy(fd));
    all_.Arrive(channel_, [channel = channel_, message, copy] {
      if (channel->server->channels.contains(channel->number)) {
        channel->server->on_descriptor(channel->number, message, std::move(*copy));
      }
    });
    return Status::Ok();
  }
  void Finish() override { all_.HangUp(channel_); }

 private:
  SimDescriptors& all_;
  const std::shared_ptr<Channel> channel_;
};

class SimDescriptors::View final : public net::DescriptorNetwork {
 public:
  View(SimDescriptors& all, std::shared_ptr<SimProcess> process)
      : all_(all), process_(std::move(process)) {}
  Result<std::unique_ptr<net::DescriptorListener>> Listen(
      std::string path, net::DescriptorListener::OnDescriptor on_descriptor,
      net::DescriptorListener::OnHangup on_hangup) override {
    std::string key = process_->host() + " " + path;
    const auto found = all_.servers_.find(key);
    if (found != all_.servers_.end() && found->second->process->alive()) {
      return Unavailable(path + " belongs to a live process");
    }
    auto server = std::make_shared<Server>();
    server->process = process_;
    server->on_descriptor = std::move(on_descriptor);
    server->on_hangup = std::move(on_hangup);
    all_.servers_[key] = server;
    return std::unique_ptr<net::DescriptorListener>(
        std::make_unique<Listener>(all_, std::move(key), std::move(server)));
  }
  Result<std::unique_ptr<net::DescriptorConnection>> Connect(
      const std::string& path, std::function<void()> on_hangup) override {
    const auto found = all_.servers_.find(process_->host() + " " + path);
    if (found == all_.servers_.end() || !found->second->process->alive()) {
      return Unavailable("nobody takes memory at " + path);
    }
    std::array<int, 2> ends{};
    HR_CHECK(::pipe2(ends.data(), O_CLOEXEC) == 0);
    auto channel = std::make_shared<Channel>();
    channel->number = ++all_.channels_;
    channel->client = process_;
    channel->server = found->second;
    channel->end = UniqueFd(ends[0]);
    channel->handle = UniqueFd(ends[1]);
    channel->on_hangup = std::move(on_hangup);
    found->second->channels[channel->number] = channel;
    return std::unique_ptr<net::DescriptorConnection>(
        std::make_unique<Connection>(all_, std::move(channel)));
  }

 private:
  SimDescriptors& all_;
  const std::shared_ptr<SimProcess> process_;
};

std::unique_ptr<net::DescriptorNetwork> SimDescriptors::Of(std::shared_ptr<SimProcess> process) {
  return std::make_unique<View>(*this, std::move(process));
}

void SimDescriptors::Arrive(const std::shared_ptr<Channel>& channel, std::function<void()> what) {
  channel->last = std::max(channel->last, events_.Now() + dice_.Between(microseconds(1), kMost));
  events_.At(channel->last, [channel, what = std::move(what)] {
    channel->server->process->Run([channel, what] {
      if (!channel->server->closed) what();
    });
  });
}

void SimDescriptors::HangUp(const std::shared_ptr<Channel>& channel) {
  if (std::exchange(channel->finished, true)) return;
  Arrive(channel, [this, channel] {
    if (channel->server->channels.erase(channel->number) == 0) return;
    channel->handle.reset();
    events_.Note("hang-up of a trainer", channel->number);
    channel->server->on_hangup(channel->number);
    WatchEnd(channel);
  });
}

void SimDescriptors::WatchEnd(const std::shared_ptr<Channel>& channel) {
  events_.After(dice_.Between(microseconds(1), kMost), [this, channel] {
    if (!channel->on_hangup || !channel->client->alive()) return;
    pollfd held{channel->end.get(), POLLIN, 0};
    if (::poll(&held, 1, 0) == 0) {
      events_.After(kLookAgain, [this, channel] { WatchEnd(channel); });
      return;
    }
    channel->client->Run([this, channel] {
      events_.Note("hang-up of a worker", channel->number);
      const std::function<void()> on_hangup = std::exchange(channel->on_hangup, nullptr);
      if (on_hangup) on_hangup();
    });
  });
}

}  // namespace headrace::simulation
