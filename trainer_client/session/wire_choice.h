#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <utility>

#include "base/clock.h"
#include "base/ids.h"
#include "ops/core/finisher.h"
#include "trainer_client/include/headrace/client.h"

namespace headrace::client {

// What a batch costs on its way, in nanoseconds for each byte.
struct WireCosts {
  double link = 0;     // on the network
  double receive = 0;  // in the trainer: from the socket to a slot
  double finish = 0;   // in the trainer, of a uint8 value: what the tail makes of it
  double ratio = 1;    // bytes of a finished batch for each byte of its uint8 values
};

// Whether a batch gets through sooner as uint8 values. The network and the trainer's thread work side
// by side, so the slower of them counts. Pure.
[[nodiscard]] bool Uint8Pays(const WireCosts& costs);

// Decides in which form batches cross the network, for each worker, by what was measured: how fast
// its batches came, and how long the trainer finished. Both are assumed at first. Pure. Reactor
// thread.
class WireChoice {
 public:
  // Of a network between hosts, and of a host's own, until batches came.
  static constexpr double kOtherHostNs = 0.8;  // 10 Gbit/s
  static constexpr double kSameHostNs = 0.25;
  // Of a byte that is taken from a socket and copied to a slot.
  static constexpr double kReceiveNs = 0.5;
  static constexpr double kFinishNs = 0.25;
  // Smaller batches tell of latency.
  static constexpr std::uint64_t kLeastBytes = std::uint64_t{64} << 10;

  // `finisher`: absent if the plan has no tail that the trainer can finish.
  WireChoice(WireForm form, std::optional<ops::Finisher> finisher)
      : form_(form), finisher_(std::move(finisher)) {}

  // wire::BatchRequest::tail_node for a request to a worker that does not share the arena.
  [[nodiscard]] std::int32_t TailFor(WorkerId worker, bool same_host) const;
  // nullptr: TailFor is always 0.
  [[nodiscard]] const ops::Finisher* finisher() const { return finisher_ ? &*finisher_ : nullptr; }

  // Notes that a payload was on its way for `network`. Waits of one batch for another are in it. So
  // the fastest of the last batches count.
  void Came(WorkerId worker, std::uint64_t bytes, Duration network);
  // Notes that a payload of uint8 values was finished.
  void Finished(std::uint64_t bytes, Duration spent);

 private:
  WireForm form_;
  std::optional<ops::Finisher> finisher_;
  std::map<WorkerId, double> link_ns_;  // of a byte
  double finish_ns_ = kFinishNs;
};

}  // namespace headrace::client
