#include "net/fault_reactor.h"

#include <algorithm>
#include <random>
#include <utility>

#include "base/log.h"

namespace headrace::net {

// The dice of all sockets of one reactor.
struct FaultReactor::Chance {
  FaultRates rates;
  std::mt19937_64 engine;

  bool Happens(double probability) {
    return std::uniform_real_distribution<>(0, 1)(engine) < probability;
  }
  Duration Delay() {
    const std::int64_t most = std::max<std::int64_t>(1, rates.max_delay.count());
    return Duration(std::uniform_int_distribution<std::int64_t>(1, most)(engine));
  }
};

// One direction of one socket.
class FaultReactor::Lane : public std::enable_shared_from_this<Lane> {
 public:
  Lane(Reactor& reactor, std::shared_ptr<Chance> chance)
      : reactor_(reactor), chance_(std::move(chance)) {}

  // Calls `deliver` never, once or twice, now or later. Returns its status if it was called now.
  Status Pass(const std::function<Status()>& deliver) {
    const std::shared_ptr<Lane> alive = shared_from_this();
    if (chance_->Happens(chance_->rates.drop)) return Status::Ok();
    const int copies = chance_->Happens(chance_->rates.duplicate) ? 2 : 1;
    Status status;
    for (int i = 0; i < copies && !closed_; ++i) {
      if (chance_->Happens(chance_->rates.delay)) {
        Later(chance_->Delay(), deliver);
      } else if (!held_ && chance_->Happens(chance_->rates.reorder)) {
        held_ = deliver;
        const std::weak_ptr<Lane> self = alive;
        reactor_.AddOnce(chance_->rates.max_delay, [self] {
          if (const auto lane = self.lock()) lane->ReleaseHeld();
        });
      } else {
        status = deliver();
        ReleaseHeld();
      }
    }
    return status;
  }
  // Stops all deliveries.
  void Close() {
    closed_ = true;
    held_ = nullptr;
  }

 private:
  void Later(Duration delay, const std::function<Status()>& deliver) {
    reactor_.AddOnce(delay, [self = weak_from_this(), deliver] {
      const auto lane = self.lock();
      if (lane && !lane->closed_) (void)deliver();
    });
  }
  void ReleaseHeld() {
    if (closed_ || !held_) return;
    const std::function<Status()> deliver = std::exchange(held_, nullptr);
    (void)deliver();
  }

  Reactor& reactor_;  // outlives this
  const std::shared_ptr<Chance> chance_;
  std::function<Status()> held_;
  bool closed_ = false;
};

class FaultReactor::FaultSocket final : public Socket {
 public:
  FaultSocket(std::shared_ptr<Lane> out, std::shared_ptr<Lane> in, std::unique_ptr<Socket> real)
      : out_(std::move(out)), in_(std::move(in)), real_(std::move(real)) {}
  ~FaultSocket() override {
    out_->Close();
    in_->Close();
  }

  Status Send(std::string_view peer, const wire::Body& body,
              std::vector<PayloadFrame> payload) override {
    return out_->Pass([this, to = std::string(peer), body, payload = std::move(payload)] {
      return real_->Send(to, body, payload);
    });
  }
  [[nodiscard]] const std::string& endpoint() const override { return real_->endpoint(); }

 private:
  const std::shared_ptr<Lane> out_;
  const std::shared_ptr<Lane> in_;
  const std::unique_ptr<Socket> real_;
};

FaultReactor::FaultReactor(Reactor& real, FaultRates rates, std::uint64_t seed)
    : real_(real), chance_(std::make_shared<Chance>(Chance{rates, std::mt19937_64(seed)})) {
  LogInfo("faulty network seed=" + std::to_string(seed));
}

FaultReactor::~FaultReactor() = default;

void FaultReactor::SetRates(const FaultRates& rates) { chance_->rates = rates; }

template <typename Open>
Result<std::unique_ptr<Socket>> FaultReactor::Wrap(SocketEvents events, Open open) {
  auto in = std::make_shared<Lane>(real_, chance_);
  const auto on_message =
      std::make_shared<std::function<void(Incoming &&)>>(std::move(events.on_message));
  events.on_message = [in, on_message](Incoming&& message) {
    (void)in->Pass([on_message, message = std::move(message)] {
      Incoming copy = message;  // it may be delivered twice
      if (*on_message) (*on_message)(std::move(copy));
      return Status::Ok();
    });
  };
  HR_TRY(std::unique_ptr<Socket> socket, open(std::move(events)));
  auto out = std::make_shared<Lane>(real_, chance_);
  return std::unique_ptr<Socket>(
      std::make_unique<FaultSocket>(std::move(out), std::move(in), std::move(socket)));
}

Result<std::unique_ptr<Socket>> FaultReactor::BindRouter(const std::string& endpoint,
                                                         SocketEvents events) {
  return Wrap(std::move(events),
              [&](SocketEvents wrapped) { return real_.BindRouter(endpoint, std::move(wrapped)); });
}

Result<std::unique_ptr<Socket>> FaultReactor::ConnectDealer(const std::string& endpoint,
                                                            SocketEvents events) {
  return Wrap(std::move(events), [&](SocketEvents wrapped) {
    return real_.ConnectDealer(endpoint, std::move(wrapped));
  });
}

Status FaultReactor::Start() { return real_.Start(); }
Status FaultReactor::Run() { return real_.Run(); }
void FaultReactor::Stop() { real_.Stop(); }
bool FaultReactor::OnThread() const { return real_.OnThread(); }
bool FaultReactor::guarded() const { return real_.guarded(); }
void FaultReactor::Post(std::function<void()> task) { real_.Post(std::move(task)); }
TimerId FaultReactor::AddTimer(Duration interval, std::function<void()> callback) {
  return real_.AddTimer(interval, std::move(callback));
}
TimerId FaultReactor::AddOnce(Duration delay, std::function<void()> callback) {
  return real_.AddOnce(delay, std::move(callback));
}
void FaultReactor::CancelTimer(TimerId timer) { real_.CancelTimer(timer); }
void FaultReactor::WatchFd(int fd, std::function<void()> on_readable) {
  real_.WatchFd(fd, std::move(on_readable));
}
void FaultReactor::UnwatchFd(int fd) { real_.UnwatchFd(fd); }
DescriptorNetwork* FaultReactor::descriptors() { return real_.descriptors(); }
Clock& FaultReactor::clock() const { return real_.clock(); }

}  // namespace headrace::net
