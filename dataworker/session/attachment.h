#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "dataworker/peers/cache_lease.h"
#include "dataworker/session/session_environment.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {

// How a session is attached: by which peer, for which job, with what part of the cache. It knows
// whether the trainer is still there. The session's answers go out through it, to the peer that
// attached last. Reactor thread.
class Attachment {
 public:
  // `clock` outlives it. `peers`: nullptr: there are none. REQUIRES: Renew before anything is answered.
  Attachment(const Clock& clock, std::shared_ptr<SampleStore> cache, SessionEnvironment::Send send,
             const wire::Attach& attach, std::shared_ptr<PeerCache> peers = nullptr)
      : clock_(clock),
        cache_(std::move(cache)),
        peers_(std::move(peers)),
        send_(std::move(send)),
        attach_(attach) {}

  // Attaches for the first time, or again: the connection or the coordinator is new, or something
  // is missing. REQUIRES: SamePlan(attach).
  void Renew(std::string peer, const wire::Attach& attach);
  [[nodiscard]] bool SamePlan(const wire::Attach& attach) const;

  [[nodiscard]] SessionId session() const { return attach_.session; }
  [[nodiscard]] JobId job() const { return attach_.job; }
  [[nodiscard]] const std::string& peer() const { return peer_; }
  // The last Attach.
  [[nodiscard]] const wire::Attach& request() const { return attach_; }
  // When it came.
  [[nodiscard]] SteadyTime since() const { return since_; }
  // The session's part of the cache; nullptr: it has none.
  [[nodiscard]] const std::shared_ptr<const CacheLease>& cache() const { return lease_; }

  // Notes that the kernel says that the trainer is a process of this user on this host. What the
  // trainer says of its host is never enough.
  void KnowHere() { here_ = true; }
  [[nodiscard]] bool here() const { return here_; }
  // Whether the trainer is to attach again before its code is started. It passes its arena beside
  // its messages. Until then it is not known to be on this host, and its code would run in another
  // Python than its own. False after kMostAwaited times that took kLongestAwait: a trainer in a hurry
  // asks often, one on a busy host seldom. Called once for each Attach.
  [[nodiscard]] bool AwaitsArena();
  // Fewer than a trainer asks for its arena before it goes on without (WorkerLink).
  static constexpr int kMostAwaited = 10;
  static constexpr Duration kLongestAwait = std::chrono::seconds(1);
  // Notes a sign of life of the trainer.
  void Heard() { heard_ = clock_.Now(); }
  // Whether nobody will ever end the session, because its trainer, on another host, died. Called
  // once for each answer to a heartbeat. `leased`: the answer named a lease of the job, or the
  // trainer is known to live. `asked`: when the heartbeat went out. True when kMostUnleased answers
  // in a row named no lease and the trainer was silent for kMostSilence. Heartbeats from before the
  // last Renew do not count. A live trainer pings, so a coordinator that forgot its job ends
  // nothing.
  [[nodiscard]] bool Abandoned(bool leased, SteadyTime asked);
  static constexpr int kMostUnleased = 3;
  static constexpr Duration kMostSilence = std::chrono::seconds(10);

  void Send(wire::Body body, std::vector<net::PayloadFrame> payload = {}) const;
  // Makes an empty answer to the request.
  [[nodiscard]] wire::BatchDone AnswerTo(const wire::BatchRequest& request) const;
  void Refuse(const wire::BatchRequest& request, Status status,
              std::uint64_t needed_bytes = 0) const;

 private:
  const Clock& clock_;
  const std::shared_ptr<SampleStore> cache_;
  const std::shared_ptr<PeerCache> peers_;
  const SessionEnvironment::Send send_;
  std::string peer_;
  wire::Attach attach_;
  SteadyTime since_{}, heard_{};
  int unleased_ = 0;  // answers in a row
  bool here_ = false;
  int awaited_ = 0;
  SteadyTime awaited_since_{};
  std::shared_ptr<const CacheLease> lease_;
};

}  // namespace headrace::dataworker
