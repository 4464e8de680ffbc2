#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "dataworker/cache/sample_store.h"
#include "dataworker/exec/executor.h"
#include "dataworker/peers/cache_lease.h"
#include "net/reactor.h"
#include "schemas/wire/control.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {

// What this worker keeps of the jobs' samples, for other workers: the answering half of PeerCache. It
// answers and takes entries only for jobs that share samples here by the last directive, and only from
// workers with the job's pass (base/pass/pass.h). A wide pass opens entries alone whose names hold on all
// hosts: of others, who has it does not know what they name here.
//
// One worker at a time may make an entry that is not here. The others are told that it comes soon, and
// ask again to wait for it (OpenClaims). Who has the claim puts the entry, or gives the claim back;
// after kClaimFor it is void. Entries count in the job's quota here. Reactor thread.
class PeerDesk {
 public:
  static constexpr Duration kClaimFor = std::chrono::seconds(10);
  static constexpr std::size_t kMostClaims = 4096;
  // Of one answer, unless its first entry is larger.
  static constexpr std::uint64_t kMostAnswerBytes = std::uint64_t{64} << 20;

  using Send =
      std::function<void(const std::string& peer, wire::Body, std::vector<net::PayloadFrame>)>;
  struct Parts {
    net::Reactor& reactor;
    Executor& executor;
    std::shared_ptr<SampleStore> cache;
    std::string token;  // the worker's; passes are made from it. Empty: everybody is admitted.
    Send send;
  };
  // What `parts` refers to outlives it, and the executor runs no task after it.
  explicit PeerDesk(Parts parts);
  ~PeerDesk();
  PeerDesk(const PeerDesk&) = delete;
  PeerDesk& operator=(const PeerDesk&) = delete;

  // The jobs that share samples from now on. They count as attached: their entries stay.
  void OnDirective(const wire::WorkerDirective& directive);
  void OnFind(const std::string& peer, const wire::PeerFind& find);
  void OnPut(const net::Incoming& incoming, const wire::PeerPut& put);
  [[nodiscard]] std::size_t claims() const { return claims_.size(); }

 private:
  struct Claimed {
    WorkerId by;
    CacheKey key;
    std::shared_ptr<EntryClaim> claim;
    SteadyTime until;
  };
  struct Pending;
  // How often those that wait for an entry are looked at: OpenClaims::Tick.
  static constexpr Duration kTick = std::chrono::milliseconds(150);
  // The names that the pass opens; nullopt: it opens nothing.
  [[nodiscard]] std::optional<NameReach> Admits(WorkerId worker, JobId job,
                                                const std::string& pass) const;
  void Answer(Pending& pending);
  void OnFound(const std::shared_ptr<Pending>& pending, std::size_t i, CacheLookup found);
  // Gives the asker the claim. False: too many are given.
  bool GiveClaim(WorkerId worker, std::shared_ptr<EntryClaim> claim);
  void DropOldClaims();

  const Parts parts_;
  std::map<JobId, std::shared_ptr<const CacheLease>> jobs_;
  std::unordered_map<EntryId, Claimed, HashEntryId> claims_;
  net::TimerId timer_ = 0;  // 0: none
  net::TimerId tick_ = 0;
  const std::shared_ptr<const bool> alive_ = std::make_shared<const bool>(true);
};

}  // namespace headrace::dataworker
