#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "net/reactor.h"
#include "schemas/wire/message.h"
#include "trainer_client/session/worker_link.h"

namespace headrace::client {

// Knows the workers of a session: which ones serve its job, which of them it is linked to, and what
// became of the others.
//
//   leased -> linked -hung up-> ended, tried again later
//                |  \-refused, or withdrawn-> refused, for good
//                \-leased no more-> linked until it owes nothing
//
// A restarted coordinator knows the same process by another id, and perhaps another process by the
// same id. So the session has ids of its own, which stay. Reactor thread.
class WorkerSet {
 public:
  // The pause before linking again to a leased worker that hung up: perhaps it only closed the
  // session's channel.
  static constexpr Duration kRelinkAfter = std::chrono::seconds(2);

  struct Events {
    // Called after the set has noted the change. The link is on the stack, so it may not be removed
    // inside. A new link may not be in the set yet.
    std::function<void(WorkerId, WorkerLink::State)> on_state;
    std::function<void(WorkerId, net::Incoming&&)> on_message;
    // A worker that serves said that the plan runs there.
    std::function<void()> on_loaded;
    std::function<void(WorkerId)> on_lost;  // WorkerLink::Events
  };
  using Links = std::map<WorkerId, std::unique_ptr<WorkerLink>>;

  // `reactor` and `context` outlive this. `compares`: only workers that were given lanes serve at
  // once.
  WorkerSet(net::Reactor& reactor, LinkContext& context, bool compares, Events events);

  // Sets all workers that serve the job now, and links to new ones.
  void SetLeases(const std::vector<wire::WorkerInfo>& workers, SteadyTime now);
  // Called once in WorkerLink::kTick. Links again to workers that ended a while ago.
  void Tick(SteadyTime now);
  // Removes links that are gone, and those leased no more for which `owes` returns false. It calls
  // `ended` before each. `served`: some worker is ready, so a refusal is no news for the trainer.
  void RemoveEnded(bool served, const std::function<bool(WorkerId)>& owes,
                   const std::function<void(WorkerId)>& ended);
  void Clear();

  [[nodiscard]] const Links& links() const { return links_; }
  // The link to the worker; null: not linked.
  [[nodiscard]] WorkerLink* Find(WorkerId worker) const;
  [[nodiscard]] bool ready(WorkerId worker) const;
  [[nodiscard]] std::vector<WorkerId> AllReady() const;
  [[nodiscard]] bool leased(WorkerId worker) const { return leased_.contains(worker); }
  [[nodiscard]] bool nothing_leased() const { return leased_.empty(); }
  // The coordinator's id of the worker.
  [[nodiscard]] WorkerId Outside(WorkerId worker) const;
  // The worker's host; empty: not linked.
  [[nodiscard]] std::string HostOf(WorkerId worker) const;
  // Whether a worker that has the plan is one that makes batches at once.
  [[nodiscard]] bool Serves(WorkerId worker) const;
  // Whether some worker that was given the lanes was ready once.
  [[nodiscard]] bool had_reference() const { return had_reference_; }
  // Whether some worker still prepares what it was asked for.
  [[nodiscard]] bool loading() const;

  // Takes nothing from the worker any more. With `for_good`, also nothing from its process if it
  // comes with another id.
  void Withdraw(WorkerId worker, const Status& why, bool for_good);
  // Adds the workers that the coordinator should check, by the coordinator's ids.
  void AddSuspects(std::vector<WorkerId>& suspects) const;
  // Adds the leased workers that are not asked again, those that were not reached, `others` and the
  // slow ones, by the coordinator's ids, each with its reason.
  void AddUnfit(const std::map<WorkerId, std::string>& others,
                const std::map<WorkerId, std::string>& slow,
                std::vector<wire::UnfitWorker>& unfit) const;
  // Why one of them has no room for the session yet; ok: none is full.
  [[nodiscard]] Status NoRoom() const;
  // Why none of the workers can run the plan; ok while one of them may.
  [[nodiscard]] Status AllRefuse() const;
  [[nodiscard]] const Status& last_refusal() const { return last_refusal_; }

 private:
  [[nodiscard]] WorkerId OwnId(const wire::WorkerInfo& worker,
                               const std::map<WorkerId, wire::WorkerInfo>& taken) const;
  void AddLink(const wire::WorkerInfo& worker, SteadyTime now);
  void OnState(WorkerId worker, WorkerLink::State state);

  net::Reactor& reactor_;
  LinkContext& context_;
  const bool compares_;
  Events events_;
  Links links_;
  std::map<WorkerId, wire::WorkerInfo> leased_;
  std::map<WorkerId, WorkerId> outside_ids_;  // our id of a worker -> the coordinator's now
  std::map<WorkerId, SteadyTime> ended_;      // gone, but still leased: tried again later
  std::map<WorkerId, Status> refused_;    // said that the plan cannot run there: not asked again
  std::map<WorkerId, Status> unreached_;  // tried again later
  std::vector<wire::WorkerInfo> withdrawn_;
  Status last_refusal_;
  bool had_reference_ = false;
};

}  // namespace headrace::client
