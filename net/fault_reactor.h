#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "net/reactor.h"

// A bad network for tests: it loses, doubles, delays and reorders messages.
namespace headrace::net {

// Probabilities for each message, independent of each other.
struct FaultRates {
  double drop = 0;
  double duplicate = 0;
  double delay = 0;    // by up to max_delay
  double reorder = 0;  // follows the next message, or comes after max_delay if there is none
  Duration max_delay = std::chrono::milliseconds(50);
};

// Passes everything through to another reactor, but the messages of sockets made here suffer
// `rates` both ways. The same seed and the same order of messages give the same faults. The
// constructor logs the seed. The thread rules are those of the reactor below, which must outlive
// this one.
class FaultReactor final : public Reactor {
 public:
  FaultReactor(Reactor& real, FaultRates rates, std::uint64_t seed);
  ~FaultReactor() override;

  // Sets the rates, also for sockets that exist. All zero heals the network. Reactor thread.
  void SetRates(const FaultRates& rates);

  Status Start() override;
  Status Run() override;
  void Stop() override;
  [[nodiscard]] bool OnThread() const override;
  [[nodiscard]] bool guarded() const override;
  void Post(std::function<void()> task) override;
  Result<std::unique_ptr<Socket>> BindRouter(const std::string& endpoint,
                                             SocketEvents events) override;
  Result<std::unique_ptr<Socket>> ConnectDealer(const std::string& endpoint,
                                                SocketEvents events) override;
  TimerId AddTimer(Duration interval, std::function<void()> callback) override;
  TimerId AddOnce(Duration delay, std::function<void()> callback) override;
  void CancelTimer(TimerId timer) override;
  void WatchFd(int fd, std::function<void()> on_readable) override;
  void UnwatchFd(int fd) override;
  [[nodiscard]] DescriptorNetwork* descriptors() override;
  [[nodiscard]] Clock& clock() const override;

 private:
  struct Chance;
  class Lane;
  class FaultSocket;

  template <typename Open>
  Result<std::unique_ptr<Socket>> Wrap(SocketEvents events, Open open);

  Reactor& real_;
  const std::shared_ptr<Chance> chance_;
};

}  // namespace headrace::net
