// This file is long because it takes every message and event of the coordinator.
#include "coordinator/step.h"

#include <algorithm>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "base/pass/pass.h"
#include "coordinator/cache_orders.h"
#include "coordinator/cache_peers.h"
#include "coordinator/cluster_orders.h"
#include "coordinator/data_names.h"
#include "coordinator/dataset_orders.h"
#include "coordinator/leaf_caches.h"
#include "coordinator/message_checks.h"
#include "coordinator/slow_drain.h"
#include "schemas/wire/bad_samples.h"

namespace headrace::coordinator {
namespace {

// Largest number of jobs and workers together for which every change is planned at once. That takes
// a millisecond or two. A larger plan takes tens of milliseconds. After a restart, thousands of
// changes may come in a moment. They wait for the plan at the end of the period.
constexpr std::size_t kPlanAtOnce = 1000;

std::string Text(JobId job) { return "job " + std::to_string(job.value); }
std::string Text(WorkerId worker) { return "worker " + std::to_string(worker.value); }

// Identifies the sources of a plan, whatever is made of them. 0: nothing is cached.
std::uint64_t SourceHash(const wire::OpenSession& m) {
  if (m.plan.has_python_stage) return 0;
  Plan cached;
  std::uint64_t files = 0;
  for (std::size_t i = 0; i < m.plan.leaves.size(); ++i) {
    SourceLeaf& leaf = cached.leaves.emplace_back(m.plan.leaves[i]);
    if (!leaf.table.valid()) continue;
    leaf.arrays.clear();  // labels are no part of what is cached of files
    if (i >= m.files.size() || m.files[i] == 0) continue;
    // The same files by another path are the same source.
    leaf.table = {};
    files = MixBits(files + m.files[i]);
  }
  return HashBytes(wire::EncodePlan(cached), files);
}

// Identifies what the cache keeps of a plan: its sources, and what is made of each of a sample's
// pictures before its cache point. 0: nothing.
std::uint64_t DatasetHash(std::uint64_t source, const NativeForm& form) {
  return source == 0 ? 0 : MixBits(source + form.prefix_hash);
}

// One step in progress. Updates that change jobs, workers or leases go to a copy of the state. So
// the policy and the replies see the result. Methods: one for each event of the table in step.h.
class Stepper {
 public:
  Stepper(const Rules& rules, const State& state, const Moment& now)
      : rules_(rules), before_(state), now_(now) {}

  Decision Take(const Event& event) {
    std::visit([this](const auto& e) { On(e); }, event);
    return std::move(decision_);
  }

 private:
  [[nodiscard]] const State& state() const { return after_ ? *after_ : before_; }

  void Emit(Update update) {
    // Signs of life change nothing that a decision uses, so they need no copy.
    if (IsDurable(update) || after_ || std::holds_alternative<EndPeriod>(update) ||
        std::holds_alternative<SetGrants>(update) || std::holds_alternative<WarmDataset>(update) ||
        std::holds_alternative<DropDataset>(update) ||
        std::holds_alternative<SetFillRates>(update)) {
      if (!after_) after_ = before_;
      const Status applied = after_->Apply(update);
      HR_CHECK(applied.ok());
    }
    decision_.updates.push_back(std::move(update));
  }

  // Makes a change that concerns leases; a plan follows it.
  void Change(Update update) {
    if (before_.jobs().size() + before_.workers().size() > kPlanAtOnce) {
      HR_CHECK(!after_);
      decision_.updates.push_back(std::move(update));
      return;
    }
    Emit(std::move(update));
    Reallocate();
  }

  void Answer(const std::string& peer, wire::Body body) {
    decision_.replies.push_back({peer, std::move(body)});
  }

  // Whether to act on a message. Peers without tokens do not read the answer: the log says it.
  bool Heeds(const Status& sender, bool answered = false) {
    if (!answered || sender.code() == Code::kInvalidArgument) decision_.refused = sender;
    return sender.ok();
  }

  void WarnOfVersion(const std::string& who, const std::string& version) {
    if (version == rules_.version) return;
    decision_.warnings.push_back(who + " is of release " + (version.empty() ? "?" : version) +
                                 ", this coordinator of " + rules_.version +
                                 "; the protocol is the same");
  }

  // Compares the plan with what holds, and tells everyone for whom something changed.
  void Reallocate() {
    const ClusterPlan plan = MakePlan(rules_.plan, state());
    decision_.demand_cores = plan.demand_cores;
    decision_.dearer_demand_cores = plan.dearer_demand_cores;
    std::set<WorkerId> touched;
    ExplainGrants explained;
    for (const JobPlan& each : plan.jobs) {
      const Job& job = *state().FindJob(each.job);
      if (job.why != each.why) explained.jobs.emplace_back(each.job, each.why);
      std::vector<WorkerId> workers;
      for (const auto& [id, grant] : each.grants) {
        if (grant.millicores > 0) workers.push_back(id);
      }
      const bool same_leases = std::ranges::equal(workers, job.leases);
      if (job.grants == each.grants && job.waits_for == each.reason && same_leases) continue;
      for (const auto& [id, grant] : job.grants) touched.insert(id);
      for (const auto& [id, grant] : each.grants) touched.insert(id);
      if (!same_leases) {
        Emit(SetLeases{each.job, job.generation + 1, std::move(workers)});
      }
      Emit(SetGrants{each.job, each.grants, each.reason});
    }
    // Nothing is decided by it, so it needs no copy of the state.
    if (!explained.jobs.empty()) Emit(std::move(explained));
    if (!after_) return;
    // A lease that came or went concerns the job's other workers too: they share its samples.
    for (const auto& [id, job] : after_->jobs()) {
      const Job* old = before_.FindJob(id);
      if (!old || old->leases == job.leases) continue;
      for (const auto& [worker, grant] : job.grants) touched.insert(worker);
    }
    // Workers first: they should know a job before its trainer connects. Both states are in the order of
    // ids: to look up ten thousand would take milliseconds.
    auto earlier = before_.workers().begin();
    for (const auto& [id, worker] : after_->workers()) {
      while (earlier != before_.workers().end() && earlier->first < id) ++earlier;
      const bool was_there = earlier != before_.workers().end() && earlier->first == id;
      const Worker* old = was_there ? &earlier->second : nullptr;
      const bool told = old && old->jobs == worker.jobs && old->draining == worker.draining &&
                        !touched.contains(id);
      if (!told && (old || !worker.jobs.empty())) {
        decision_.pushes.push_back({id, DirectiveOf(worker, 0)});
      }
    }
    for (const auto& [id, job] : after_->jobs()) {
      const Job* old = before_.FindJob(id);
      if (old ? old->generation != job.generation : job.generation > 0) {
        decision_.pushes.push_back({id, LeasesOf(job, 0)});
      }
    }
  }

  [[nodiscard]] wire::Leases LeasesOf(const Job& job, std::uint64_t request) const {
    wire::Leases leases;
    leases.request = request;
    leases.job = job.spec.job;
    leases.generation = job.generation;
    for (const WorkerId id : job.leases) {
      const Worker& worker = *state().FindWorker(id);
      leases.workers.push_back(worker.info);
      leases.workers.back().pass = PassOf(worker.token, leases.job);
    }
    return leases;
  }
  [[nodiscard]] wire::WorkerDirective DirectiveOf(const Worker& worker,
                                                  std::uint64_t request) const {
    wire::WorkerDirective directive;
    directive.request = request;
    directive.drain = worker.draining;
    directive.jobs = {worker.jobs.begin(), worker.jobs.end()};
    for (const JobId id : worker.jobs) {
      const Job& job = *state().FindJob(id);
      const auto grant = job.grants.find(worker.info.worker);
      if (grant == job.grants.end()) {
        // There is no plan since this coordinator began: equal shares until there is.
        directive.grants.clear();
        break;
      }
      AddGrant(job, grant->second, worker, directive);
    }
    if (!directive.grants.empty() || directive.jobs.empty()) {
      for (const JobId id : worker.granted) {
        if (worker.jobs.contains(id)) continue;
        const Job& job = *state().FindJob(id);
        AddGrant(job, job.grants.at(worker.info.worker), worker, directive);
      }
    }
    AddCacheOrders(rules_.plan, state(), worker, directive);
    return directive;
  }
  void AddGrant(const Job& job, const wire::JobGrant& grant, const Worker& worker,
                wire::WorkerDirective& directive) const {
    directive.grants.push_back(grant);
    NamePeers(state(), job, worker, directive.grants.back());
  }
  [[nodiscard]] std::uint32_t HeartbeatMs() const {
    return static_cast<std::uint32_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(rules_.heartbeat).count());
  }

  void On(const PeerMessage& message) {
    std::visit([&](const auto& body) { Receive(message.peer, body); }, message.body);
  }
  // Answers and data-plane messages are not for a coordinator, and it does not know newer types.
  template <typename T>
  void Receive(const std::string&, const T&) {}

  void Receive(const std::string& peer, const wire::OpenJob& m) {
    wire::JobOpened reply;
    reply.request = m.request;
    reply.heartbeat_ms = HeartbeatMs();
    reply.status = CheckMessage(m);
    const Job* known = state().FindJobByToken(m.token);
    if (reply.status.ok() && !known) reply.status = CheckRoom(rules_.quotas, state(), m);
    if (reply.status.code() == Code::kResourceExhausted) {
      decision_.refused = reply.status.WithContext(m.name + " on " + m.host.hostname);
      Emit(AskForRoom{m.host, now_.steady});
    }
    if (!reply.status.ok()) return Answer(peer, std::move(reply));
    AddJob add{known ? known->spec.job : state().next_job(),
               known ? known->spec.consumer : state().next_consumer(),
               m.token,
               m.name,
               m.host,
               m.version,
               m.wanted_workers,
               m.cache_bytes,
               known ? known->spec.opened_ms : now_.wall_ms,
               m.tenant,
               m.priority,
               m.group,
               m.rank,
               m.link_bytes_per_second,
               m.rack};
    reply.job = add.job;
    reply.consumer = add.consumer;
    Answer(peer, std::move(reply));
    const JobId job = add.job;
    if (!known) WarnOfVersion(Text(job) + " (" + m.name + ")", m.version);
    const bool changed = !known || known->phase == Job::Phase::kLost || known->spec != add;
    if (changed) Change(std::move(add));
    Emit(SeeConsumer{job, now_.steady, {}, false, {}});
  }

  void Receive(const std::string& peer, const wire::OpenSession& m) {
    wire::SessionOpened reply;
    reply.request = m.request;
    Result<wire::Split> split = OpenSession(m);
    if (split.ok()) {
      reply.split = std::move(split).value();
      reply.held_back = state().held_back().Of({wire::DataSetOf(m.plan)});
    } else {
      reply.status = split.status();
    }
    Answer(peer, std::move(reply));
  }

  Result<wire::Split> OpenSession(const wire::OpenSession& m) {
    HR_RETURN_IF_ERROR(CheckSender(state(), m.job, m.token));
    const Job* job = state().FindJob(m.job);
    if (!m.session.valid()) return InvalidArgument("session without id");
    HR_RETURN_IF_ERROR(CheckText("plan name", m.plan.name));
    const auto encoded = wire::EncodePlan(m.plan);
    const std::uint64_t hash = HashBytes(encoded);
    Emit(SeeConsumer{m.job, now_.steady, {}, false, {}});
    if (const auto it = job->sessions.find(m.session); it != job->sessions.end()) {
      if (it->second.plan_hash == hash) return it->second.split;
      return InvalidArgument("session " + std::to_string(m.session.value) +
                             " is open with another plan");
    }
    HR_RETURN_IF_ERROR(CheckRoom(rules_.quotas, *job, encoded.size()));
    NativeForm form;
    HR_TRY(wire::Split split, SplitPlan(m.plan, rules_.native_check, &form));
    std::int64_t rows = 0;
    for (const SourceLeaf& leaf : m.plan.leaves) rows += leaf.rows;
    const DataNames names = NamesOf(m.plan.leaves);
    // Its data set may want a cache.
    const std::uint64_t source = SourceHash(m), dataset = DatasetHash(source, form);
    Change(AddSession{m.job, m.session, m.plan.name, hash, split, dataset, rows,
                      m.plan.has_python_stage && m.plan.python.replayed, names.far,
                      names.everywhere, source, std::move(form.prefixes),
                      source == 0 ? LeafNumberOf(state(), *job, m.plan.name) : 0});
    if (m.warm && source != 0) {
      Emit(WarmDataset{dataset});
      SetFills();
    }
    return split;
  }

  void Receive(const std::string& peer, const wire::ConsumerHeartbeat& m) {
    wire::Leases refusal{.request = m.request, .job = m.job};
    refusal.status = CheckSender(state(), m);
    if (!Heeds(refusal.status, true)) return Answer(peer, std::move(refusal));
    const Job* job = state().FindJob(m.job);
    std::vector<wire::SessionLoad> loads = m.sessions;
    std::erase_if(loads, [&](const auto& load) { return !job->sessions.contains(load.session); });
    if (loads.size() > job->sessions.size()) loads.resize(job->sessions.size());
    if (job->phase == Job::Phase::kLost) Change(ReviveJob{m.job});
    Emit(SeeConsumer{m.job, now_.steady, std::move(loads), true, LeasedUnfit(m.unfit, job->leases),
                     wire::Bounded(m.bad)});
    if (std::vector<wire::BadSample> held_back = NewlyHeldBack(state(), m); !held_back.empty()) {
      for (const wire::BadSample& sample : held_back) {
        decision_.warnings.push_back(Text(m.job) + ": no worker is given " + sample.name +
                                     " any more: " + sample.cause);
      }
      Emit(HoldBack{std::move(held_back)});
    }
    for (const WorkerId id : m.suspected) {
      const Worker* worker = state().FindWorker(id);
      if (!worker || worker->phase == Worker::Phase::kLost) continue;
      Emit(SuspectWorker{id, now_.steady});
      decision_.verify.push_back({id});
    }
    wire::Leases leases = LeasesOf(*state().FindJob(m.job), m.request);
    leases.held_back = state().held_back().Of(m.data_sets);
    Answer(peer, std::move(leases));
  }

  void Receive(const std::string&, const wire::CloseSession& m) {
    if (!Heeds(CheckSender(state(), m.job, m.token))) return;
    if (state().FindJob(m.job)->sessions.contains(m.session)) {
      Emit(RemoveSession{m.job, m.session});
    }
  }

  void Receive(const std::string&, const wire::CloseJob& m) {
    if (!Heeds(CheckSender(state(), m.job, m.token))) return;
    Remember(*state().FindJob(m.job), "ended");
    Change(RemoveJob{m.job});
  }

  void Receive(const std::string& peer, const wire::RegisterWorker& m) {
    wire::WorkerRegistered reply;
    reply.request = m.request;
    reply.heartbeat_ms = HeartbeatMs();
    reply.status = CheckMessage(m);
    const Worker* known = state().FindWorkerByToken(m.token);
    if (reply.status.ok() && m.info.local && !known) reply.status = CheckNeeded(state(), m.info);
    if (reply.status.ok() && !known) reply.status = CheckRoom(rules_.quotas, state());
    if (!reply.status.ok()) return Answer(peer, std::move(reply));
    AddWorker add{m.token, m.info};
    add.info.pass.clear();
    add.info.worker = known ? known->info.worker : state().next_worker();
    const WorkerId id = reply.worker = add.info.worker;
    Answer(peer, std::move(reply));
    if (!known) WarnOfVersion(Text(id) + " on " + m.info.host.hostname, m.info.version);
    const bool changed = !known || known->phase == Worker::Phase::kLost || known->info != add.info;
    if (changed) Change(std::move(add));
    Emit(SeeWorker{id, now_.steady});
  }

  void Receive(const std::string& peer, const wire::WorkerHeartbeat& m) {
    wire::WorkerDirective refusal{.request = m.request};
    refusal.status = CheckSender(state(), m.worker, m.token);
    if (!Heeds(refusal.status, true)) return Answer(peer, std::move(refusal));
    const Worker* worker = state().FindWorker(m.worker);
    if (worker->phase == Worker::Phase::kLost) Change(ReviveWorker{m.worker});
    wire::WorkerHeartbeat report = m;
    report.token.clear();
    report.jobs.clear();  // the state decides who holds leases
    Emit(ReportWorker{now_.steady, std::move(report)});
    Answer(peer, DirectiveOf(*state().FindWorker(m.worker), m.request));
  }

  void Receive(const std::string&, const wire::LeaveWorker& m) {
    if (!Heeds(CheckSender(state(), m.worker, m.token))) return;
    const Worker* worker = state().FindWorker(m.worker);
    if (worker->draining) {
      Change(RemoveWorker{m.worker, worker->last.cpu_seconds});
    } else {
      Change(DrainWorker{m.worker});
    }
  }

  void Receive(const std::string& peer, const wire::StatusQuery& m) {
    Answer(peer, DescribeCluster(rules_, state(), m, now_));
  }

  void Receive(const std::string& peer, const wire::DatasetOrder& m) {
    OrderOutcome outcome = TakeOrder(rules_.plan, state(), m, now_.wall_ms);
    if (!outcome.updates.empty()) {
      decision_.warnings.push_back("by order, data set " + outcome.reply.name + " " +
                                   outcome.reply.text);
    }
    Answer(peer, std::move(outcome.reply));
    if (outcome.updates.empty()) return;
    for (Update& update : outcome.updates) Emit(std::move(update));
    Reallocate();
    SetFills();
    // Workers do it now, not with the next heartbeat.
    for (const auto& [id, worker] : state().workers()) {
      if (worker.phase == Worker::Phase::kReady) {
        decision_.pushes.push_back({id, DirectiveOf(worker, 0)});
      }
    }
  }

  void Receive(const std::string& peer, const wire::ClusterOrder& m) {
    ClusterOutcome outcome = TakeOrder(state(), m);
    if (!outcome.updates.empty()) {
      decision_.warnings.push_back("by order, " + outcome.reply.text);
    }
    Answer(peer, std::move(outcome.reply));
    if (outcome.updates.empty()) return;
    for (Update& update : outcome.updates) Emit(std::move(update));
    Reallocate();
  }

  void On(const WorkerEnded& event) {
    const Worker* worker = state().FindWorker(event.worker);
    if (!worker) return;
    Emit(SettleWorkerCpu{event.worker, event.cpu_seconds});
    if (worker->phase == Worker::Phase::kLost) return;
    Change(MarkWorkerLost{event.worker});
  }

  void On(const Drain& event) {
    const Worker* worker = state().FindWorker(event.worker);
    if (!worker || worker->draining) return;
    Change(DrainWorker{event.worker});
  }

  void On(const Tick&) {
    bool changed = WasAway() ? false : MarkLost();
    if (now_.steady - state().period_ended() >= rules_.heartbeat) {
      Emit(EndPeriod{now_.steady});
      DrainSlow();
      changed = true;
    }
    if (!changed) return;
    Reallocate();
    SetFills();
  }

  void SetFills() {
    std::map<std::string, std::uint64_t> rates = FillRates(rules_.plan, state());
    if (rates != state().fill_rates()) Emit(SetFillRates{std::move(rates)});
  }

  void DrainSlow() {
    const std::optional<SlowWorker> slow = ChooseSlowDrain(rules_.slow, state(), now_.steady);
    if (!slow) return;
    decision_.warnings.push_back(Text(slow->worker) + " on " +
                                 state().FindWorker(slow->worker)->info.host.hostname +
                                 " is drained: " + slow->reason);
    Emit(DrainWorker{slow->worker, slow->reason});
    Emit(CountSlowDrain{slow->worker, slow->jobs, now_.steady});
  }

  // Before the job is removed.
  void Remember(const Job& job, const std::string& end) {
    // No plan asks for it, so that it needs no copy of the state.
    decision_.updates.push_back(RememberJob{{.job = job.spec.job,
                                             .name = job.spec.name,
                                             .hostname = job.spec.host.hostname,
                                             .pid = job.spec.host.pid,
                                             .tenant = job.spec.tenant,
                                             .group = job.spec.group,
                                             .rank = job.spec.rank,
                                             .opened_ms = job.spec.opened_ms,
                                             .ended_ms = now_.wall_ms,
                                             .end = job.cancelled ? end + ", cancelled" : end,
                                             .totals = job.meter.totals()}});
  }

  // Says whether the coordinator itself stood still: stopped, moved, out of memory. It could hear
  // nobody then, and messages sent meanwhile follow this tick. So all peers get the full time
  // again.
  bool WasAway() {
    const Duration away = now_.steady - before_.period_ended();
    if (away < std::max(2 * rules_.heartbeat, rules_.worker_lost_after / 2)) return false;
    Emit(RestartClocks{now_.steady});
    return true;
  }

  // Marks peers that were silent for too long. Returns whether that concerns leases.
  bool MarkLost() {
    bool changed = false;
    for (const auto& [id, worker] : before_.workers()) {
      const Duration silent = now_.steady - worker.last_seen;
      if (worker.phase == Worker::Phase::kLost) {
        if (silent >= rules_.forget_after) Emit(RemoveWorker{id, worker.last.cpu_seconds});
        continue;
      }
      const bool suspected = worker.suspected_at > worker.last_seen;
      const Duration limit = suspected ? std::min(rules_.suspect_after, rules_.worker_lost_after)
                                       : rules_.worker_lost_after;
      if (silent >= limit) {
        decision_.warnings.push_back(Text(id) + " on " + worker.info.host.hostname +
                                     " is lost: silent for " + Seconds(silent));
        Emit(MarkWorkerLost{id});
        changed = true;
      }
    }
    for (const auto& [id, job] : before_.jobs()) {
      const Duration silent = now_.steady - job.last_seen;
      if (job.phase == Job::Phase::kLost) {
        if (silent < rules_.forget_after) continue;
        Remember(job, "lost");
        Emit(RemoveJob{id});
      } else if (silent >= rules_.job_lost_after) {
        decision_.warnings.push_back(Text(id) + " (" + job.spec.name + ") is lost: silent for " +
                                     Seconds(silent));
        Emit(MarkJobLost{id});
        changed = true;
      }
    }
    return changed;
  }

  [[nodiscard]] static std::string Seconds(Duration d) {
    const auto ms = std::chrono::duration_cast<std::chrono::milliseconds>(d).count();
    return std::to_string(ms / 1000) + "." + std::to_string(ms % 1000 / 100) + " s";
  }

  const Rules& rules_;
  const State& before_;
  const Moment& now_;
  std::optional<State> after_;
  Decision decision_;
};

}  // namespace

Decision Step(const Rules& rules, const State& state, const Event& event, const Moment& now) {
  HR_CHECK(rules.plan.policy != nullptr);
  return Stepper(rules, state, now).Take(event);
}

}  // namespace headrace::coordinator
