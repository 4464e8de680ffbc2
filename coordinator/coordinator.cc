#include "coordinator/coordinator.h"

#include <signal.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <variant>

#include "base/check.h"
#include "base/log.h"
#include "base/version.h"
#include "coordinator/describe_pools.h"
#include "coordinator/held_answers.h"
#include "coordinator/message_checks.h"
#include "coordinator/own_orders.h"
#include "coordinator/policy/core/policy.h"
#include "coordinator/pool_keeper.h"
#include "coordinator/pool_options.h"
#include "coordinator/story.h"
#include "net/descriptor_watch.h"
#include "net/exposure.h"

namespace headrace::coordinator {
namespace {

constexpr std::int64_t kYear2026 = 1'767'225'600'000;  // wall clock
// Answers that wait for peers, all together: a status of a large cluster is a megabyte.
constexpr std::size_t kMostUnsentBytes = std::size_t{256} << 20;
constexpr auto kComplainEvery = std::chrono::seconds(1);

// Logs what StoryOf says, which may be nothing.
void Say(const std::string& line) {
  if (!line.empty()) LogInfo(line);
}

Status UnknownPolicy(const PolicyRegistry& policies, const std::string& name) {
  std::string known;
  for (const std::string& each : policies.Names()) known += (known.empty() ? "" : ", ") + each;
  return NotFound("no policy named " + name + "; this build has: " + known);
}

class CoordinatorImpl final : public Coordinator {
 public:
  CoordinatorImpl(net::Reactor& reactor, CoordinatorOptions options)
      : reactor_(reactor),
        options_(std::move(options)),
        keeper_(reactor, KeeperOptions(options_)) {}
  ~CoordinatorImpl() override { Stop(); }

  Status Init() {
    HR_RETURN_IF_ERROR(net::CheckExposure(options_.listen, reactor_.guarded(), options_.insecure));
    RegisterPolicies(policies_);
    rules_.plan.policy = policies_.Find(options_.policy);
    if (!rules_.plan.policy) return UnknownPolicy(policies_, options_.policy);
    rules_.plan.tenants = options_.tenants;
    rules_.plan.dataset_bytes = options_.dataset_bytes;
    rules_.plan.floor = options_.floor;
    rules_.plan.shared_cache_first = options_.shared_cache_first;
    rules_.plan.replicas = options_.replicas;
    const std::vector<double>& core_prices = keeper_.core_prices();
    rules_.plan.prices = {options_.prices.gpu, core_prices.front()};
    rules_.plan.dearer_core_prices.assign(core_prices.begin() + 1, core_prices.end());
    rules_.plan.source_rate = options_.source_rate;
    rules_.plan.lease_all = options_.lease_all;
    rules_.native_check = BuiltinNativeCheck();
    rules_.quotas = options_.quotas;
    rules_.slow = options_.slow;
    // Workers say with their heartbeats whom they serve.
    rules_.slow.of_late = std::max(rules_.slow.of_late, 5 * options_.heartbeat);
    rules_.version = kVersion;
    rules_.heartbeat = options_.heartbeat;
    rules_.worker_lost_after = options_.heartbeat * options_.worker_beats;
    rules_.suspect_after = options_.heartbeat * 3 / 2;
    rules_.job_lost_after = options_.heartbeat * options_.job_beats;
    const bool journalled = options_.open_journal || !options_.state_dir.empty();
    HR_RETURN_IF_ERROR(journalled ? OpenJournal() : StartIds());
    net::SocketEvents events;
    events.on_message = [this](net::Incoming&& message) { OnMessage(std::move(message)); };
    events.on_invalid = [this](const std::string& peer, const Status& e) { OnInvalid(peer, e); };
    events.most_unsent_bytes = kMostUnsentBytes;
    HR_TRY(socket_, reactor_.BindRouter(options_.listen, std::move(events)));
    if (net::LoopbackInstead(options_.listen, socket_->endpoint())) {
      LogWarning("only this host reaches the coordinator: " + options_.listen + " is " +
                 socket_->endpoint() + " here; say --listen tcp://0.0.0.0:PORT for a pool");
    }
    HR_RETURN_IF_ERROR(StartPools());
    descriptors_.emplace(reactor_);
    timer_ = reactor_.AddTimer(options_.heartbeat / 2, [this] {
      if (!Behind()) Dispatch(Tick{});
      keeper_.Look();
    });
    // Grants come before a worker from the journal is told of its jobs.
    Dispatch(Tick{});
    return Status::Ok();
  }

  [[nodiscard]] const std::string& endpoint() const override { return socket_->endpoint(); }
  [[nodiscard]] const State& state() const override { return state_; }
  [[nodiscard]] wire::ClusterStatus Describe() const override {
    wire::ClusterStatus status = DescribeCluster(rules_, state_, {}, ThisMoment());
    status.pools = DescribePools(keeper_.Describe(), status.workers);
    return status;
  }

  [[nodiscard]] PoolReport DescribePool() const override { return keeper_.Describe(); }

  Status Drain(WorkerId worker) override {
    if (!state_.FindWorker(worker)) {
      return NotFound("no worker " + std::to_string(worker.value) + " here");
    }
    HR_RETURN_IF_ERROR(keeper_.Drain(worker));
    Dispatch(coordinator::Drain{worker});
    return Status::Ok();
  }

  void Order(const wire::ClusterOrder& order,
             std::function<void(wire::ClusterOrdered)> answer) override {
    Dispatch(PeerMessage{OwnOrders::kPeer, own_orders_.Begin(order, std::move(answer))});
  }

  void Stop() override {
    if (stopped_) return;
    stopped_ = true;
    if (timer_) reactor_.CancelTimer(*timer_);
    descriptors_.reset();
    keeper_.Stop();
    if (journal_) journal_->Stop();
    alive_.reset();
    socket_.reset();
  }

 private:
  // Without a journal nobody knows which ids were given. So ids start at the time of day in
  // milliseconds. Nobody gives a thousand a second for long.
  Status StartIds() {
    if (!options_.may_be_followed) return Status::Ok();
    const std::int64_t id = std::max<std::int64_t>(reactor_.clock().WallMillis() - kYear2026, 1);
    return state_.Apply(SetCounters{id, id, id, 0});
  }

  Status OpenJournal() {
    Journal::OnFailure on_failure = [this, alive = std::weak_ptr(alive_)](const Status& error) {
      reactor_.Post([this, alive, error] {
        if (!alive.expired() && options_.on_failure) options_.on_failure(error);
      });
    };
    HR_TRY(Journal::Opened opened, options_.open_journal
                                       ? options_.open_journal(std::move(on_failure))
                                       : Journal::Open(options_.state_dir, std::move(on_failure)));
    journal_ = std::move(opened.journal);
    state_ = std::move(opened.state);
    HR_RETURN_IF_ERROR(state_.Apply(RestartClocks{reactor_.clock().Now()}));
    if (options_.forget_bad_samples) {
      HR_RETURN_IF_ERROR(state_.Apply(ForgetHeldBack{}));
      journal_->Append({ForgetHeldBack{}}, [] {});
    }
    LogInfo("journal replayed jobs=" + std::to_string(state_.jobs().size()) +
            " workers=" + std::to_string(state_.workers().size()));
    return Status::Ok();
  }

  Status StartPools() {
    PoolRegistry registry;
    RegisterPools(registry);
    std::vector<std::unique_ptr<Pool>> pools;
    const auto ended = [this](WorkerId worker, double cpu) { Dispatch(WorkerEnded{worker, cpu}); };
    for (const PoolWish& wish : options_.pools) {
      PoolOptions pool = PoolOptionsOf(options_, wish, registry, socket_->endpoint());
      pool.epoch = reactor_.clock().WallMillis();
      PoolEvents events = keeper_.Events(ended, pools.size());
      HR_TRY(std::unique_ptr<Pool> made,
             options_.make_pool ? options_.make_pool(reactor_, std::move(pool), std::move(events))
                                : registry.Make(wish.kind, wish.settings, reactor_, std::move(pool),
                                                std::move(events)));
      pools.push_back(std::move(made));
    }
    return keeper_.Begin(std::move(pools), state_);
  }

  // Whether the journal's disk hangs. What peers say is dropped then: they say it again. So neither
  // the journal's queue nor the answers that wait for it grow without end.
  [[nodiscard]] bool Behind() const {
    return journal_ && (journal_->waiting() >= Journal::kMostWaiting || held_.full());
  }

  void OnMessage(net::Incoming&& message) {
    if (Behind()) {
      return Complain(
          Unavailable("the disk of the journal does not answer; nothing is heeded until "
                      "it does state_dir=" +
                      options_.state_dir));
    }
    MakeNamesPlain(message.body);
    // Leases go to the peer that speaks for the job or worker.
    if (const auto* beat = std::get_if<wire::ConsumerHeartbeat>(&message.body)) {
      if (CheckSender(state_, *beat).ok()) consumers_[beat->job] = message.peer;
    } else if (const auto* own = std::get_if<wire::WorkerHeartbeat>(&message.body)) {
      if (CheckSender(state_, own->worker, own->token).ok()) workers_[own->worker] = message.peer;
    }
    Dispatch(PeerMessage{std::move(message.peer), std::move(message.body)});
  }

  // In at most one line a second, so that nobody fills the log.
  void Complain(const Status& error) {
    const SteadyTime now = reactor_.clock().Now();
    if (now - last_complaint_ < kComplainEvery) return;
    last_complaint_ = now;
    LogWarning("message refused: " + error.ToString());
  }

  void OnInvalid(const std::string& peer, const Status& error) {
    Complain(error);
    if (error.code() != Code::kOtherRelease) return;
    // For a peer of another protocol, any answer of ours names both versions.
    wire::ClusterStatus answer;
    answer.status = error;
    Send({peer, std::move(answer)});
  }

  void Dispatch(const Event& event) {
    if (stopped_) return;
    const Moment now = ThisMoment();
    Decision decision = Step(rules_, state_, event, now);
    std::vector<Update> durable;
    for (Update& update : decision.updates) {
      Say(StoryOf(state_, update, now.wall_ms));
      const Status applied = state_.Apply(update);
      HR_CHECK(applied.ok());
      Tell(update);
      if (journal_ && IsDurable(update)) durable.push_back(std::move(update));
    }
    for (const std::string& warning : decision.warnings) LogWarning(warning);
    if (!decision.refused.ok()) Complain(decision.refused);
    for (Reply& reply : decision.replies) {
      Introduce(reply);
      if (auto* status = std::get_if<wire::ClusterStatus>(&reply.body)) {
        status->pools = DescribePools(keeper_.Describe(), status->workers);
      }
    }
    Deliver(durable, Address(std::move(decision.replies), std::move(decision.pushes)));
    for (const VerifyWorker& verify : decision.verify) Verify(verify.worker);
    if (!decision.demand_cores) return;
    for (const WorkerId id :
         keeper_.Resize(state_, *decision.demand_cores, decision.dearer_demand_cores)) {
      if (!Drain(id).ok()) break;
    }
  }

  [[nodiscard]] Moment ThisMoment() const {
    return {reactor_.clock().Now(), reactor_.clock().WallMillis(), options_.cpu_seconds(),
            static_cast<std::uint32_t>(keeper_.desired_workers()), keeper_.next_core_price()};
  }

  // Keeps the pool and the address book in step with the state.
  void Tell(const Update& update) {
    keeper_.Tell(update, state_);
    if (const auto* removed = std::get_if<RemoveWorker>(&update)) {
      workers_.erase(removed->worker);
    } else if (const auto* job = std::get_if<RemoveJob>(&update)) {
      consumers_.erase(job->job);
    }
  }
  void Introduce(const Reply& reply) {
    if (const auto* job = std::get_if<wire::JobOpened>(&reply.body)) {
      if (job->status.ok()) consumers_[job->job] = reply.peer;
    } else if (const auto* worker = std::get_if<wire::WorkerRegistered>(&reply.body)) {
      if (worker->status.ok()) workers_[worker->worker] = reply.peer;
    }
  }

  std::vector<Outgoing> Address(std::vector<Reply> replies, std::vector<Push> pushes) {
    std::vector<Outgoing> messages;
    for (Reply& reply : replies) {
      messages.push_back({std::move(reply.peer), std::move(reply.body)});
    }
    const auto add = [&](const auto& book, auto id, wire::Body& body) {
      // Unknown after a restart: it hears of its leases at its next heartbeat.
      if (const auto it = book.find(id); it != book.end()) {
        messages.push_back({it->second, std::move(body)});
      }
    };
    for (Push& push : pushes) {
      if (const auto* job = std::get_if<JobId>(&push.to)) {
        add(consumers_, *job, push.body);
      } else {
        add(workers_, std::get<WorkerId>(push.to), push.body);
      }
    }
    return messages;
  }

  void Deliver(const std::vector<Update>& durable, std::vector<Outgoing> messages) {
    if (!durable.empty()) {
      const std::uint64_t number = held_.HoldForNew(std::move(messages));
      journal_->Append(durable, [this, number, alive = std::weak_ptr(alive_)] {
        reactor_.Post([this, number, alive] {
          if (alive.expired()) return;
          for (const Outgoing& message : held_.Release(number)) Send(message);
        });
      });
      if (journal_->compaction_due()) journal_->Compact(state_.Snapshot());
    } else if (!held_.empty()) {
      held_.HoldForLast(std::move(messages));
    } else {
      for (const Outgoing& message : messages) Send(message);
    }
  }

  void Send(const Outgoing& message) {
    if (message.peer == OwnOrders::kPeer) return own_orders_.Tell(message.body);
    // If a peer is gone or does not read, its silence will be noticed.
    if (Status s = socket_->Send(message.peer, message.body); !s.ok()) LogDebug(s.ToString());
  }

  void Verify(WorkerId id) {
    const Worker* worker = state_.FindWorker(id);
    if (!worker) return;
    std::optional<bool> alive = keeper_.Alive(id);
    const wire::HostIdentity& host = worker->info.host;
    // Process ids mean the same only if the host names are the same too (containers).
    if (!alive && wire::SameHost(host, options_.host) && host.hostname == options_.host.hostname &&
        host.pid > 0) {
      alive = ::kill(static_cast<pid_t>(host.pid), 0) == 0 || errno != ESRCH;
    }
    if (alive == false) Dispatch(WorkerEnded{id, 0});
  }

  net::Reactor& reactor_;
  const CoordinatorOptions options_;
  PolicyRegistry policies_;
  Rules rules_;
  State state_;
  std::unique_ptr<Journal> journal_;
  std::unique_ptr<net::Socket> socket_;
  std::optional<net::TimerId> timer_;
  std::optional<net::DescriptorWatch> descriptors_;
  std::map<JobId, std::string> consumers_;   // peers
  std::map<WorkerId, std::string> workers_;  // peers
  HeldAnswers held_;
  OwnOrders own_orders_;
  SteadyTime last_complaint_;
  PoolKeeper keeper_;
  std::shared_ptr<int> alive_ = std::make_shared<int>(0);  // posts check that this still exists
  bool stopped_ = false;
};

}  // namespace

Result<std::unique_ptr<Coordinator>> Coordinator::Make(net::Reactor& reactor,
                                                       CoordinatorOptions options) {
  auto made = std::make_unique<CoordinatorImpl>(reactor, std::move(options));
  HR_RETURN_IF_ERROR(made->Init());
  return std::unique_ptr<Coordinator>(std::move(made));
}

}  // namespace headrace::coordinator
