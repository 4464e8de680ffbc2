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

// The workers of a session: which ones serve its job, which of them it is linked to, and what
// became of the others.
//
//   leased -> linked -hung up-> ended, tried again later
//                |  \-refused, or withdrawn-> refused, for good
//                \-leased no more-> linked until it owes nothing
//
// A coordinator that was restarted knows the same process by another id, and perhaps another
// process by the same id. So the session has ids of its own, which stay. Reactor thread.
class WorkerSet {
 public:
  // A worker that is leased again after it hung up: perhaps it only closed the session's channel.
  static constexpr Duration kRelinkAfter = std::chrono::seconds(2);

  struct Events {
    // After the set knows of it. The link is on the stack: it may not be removed inside. A new link
    // may not be in the set yet.
    std::function<void(WorkerId, WorkerLink::State)> on_state;
    std::function<void(WorkerId, net::Incoming&&)> on_message;
    // A worker that serves said that the plan runs there.
    std::function<void()> on_loaded;
  };
  using Links = std::map<WorkerId, std::unique_ptr<WorkerLink>>;

  // `reactor` and `context` outlive this. `compares`: only workers that were given lanes serve at
  // once.
  WorkerSet(net::Reactor& reactor, LinkContext& context, bool compares, Events events);

  // The whole set of workers that serve the job now. New ones are linked to.
  void SetLeases(const std::vector<wire::WorkerInfo>& workers, SteadyTime now);
  // Once in WorkerLink::kTick. Links again to those that ended a while ago.
  void Tick(SteadyTime now);
  // Removes links that are gone, and those leased no more for which `owes` says false. `ended` is
  // called before each. `served`: some worker is ready, so that a refusal is no news of the
  // trainer.
  void RemoveEnded(bool served, const std::function<bool(WorkerId)>& owes,
                   const std::function<void(WorkerId)>& ended);
  void Clear();

  [[nodiscard]] const Links& links() const { return links_; }
  // Null: not linked.
  [[nodiscard]] WorkerLink* Find(WorkerId worker) const;
  [[nodiscard]] bool ready(WorkerId worker) const;
  [[nodiscard]] std::vector<WorkerId> AllReady() const;
  [[nodiscard]] bool leased(WorkerId worker) const { return leased_.contains(worker); }
  [[nodiscard]] bool nothing_leased() const { return leased_.empty(); }
  // The coordinator's id of the worker.
  [[nodiscard]] WorkerId Outside(WorkerId worker) const;
  // Empty: not linked.
  [[nodiscard]] std::string HostOf(WorkerId worker) const;
  // Whether a worker that has the plan is one that makes batches at once.
  [[nodiscard]] bool Serves(WorkerId worker) const;
  // Some worker was ready that was given the lanes.
  [[nodiscard]] bool had_reference() const { return had_reference_; }
  // Some worker makes ready what it was asked for.
  [[nodiscard]] bool loading() const;

  // The session takes nothing of the worker any more. With `for_good` also not of its process when
  // it comes by another id.
  void Withdraw(WorkerId worker, const Status& why, bool for_good);
  // Adds those that the coordinator should look after, by its own ids.
  void AddSuspects(std::vector<WorkerId>& suspects) const;
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
  std::map<WorkerId, SteadyTime> ended_;      // gone though leased: tried again later
  std::map<WorkerId, Status> refused_;  // said that the plan cannot run there: not asked again
  std::vector<wire::WorkerInfo> withdrawn_;
  Status last_refusal_;
  bool had_reference_ = false;
};

}  // namespace headrace::client
