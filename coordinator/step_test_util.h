#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "coordinator/step.h"
#include "coordinator/test_tokens.h"

namespace headrace::coordinator {

// Accepts every plan as native.
inline Result<NativeForm> AllNative(std::span<const Node> nodes, std::span<const std::int32_t>,
                                    const ClientLibraries&) {
  return NativeForm{.pure_prefix = static_cast<int>(nodes.size())};
}

inline Plan SmallPlan() {
  Plan plan;
  plan.name = "ImageFolder(/data)";
  SourceLeaf leaf;
  leaf.rows = 10;
  leaf.table = BlobHash(1);
  plan.leaves = {leaf};
  Node decode;
  decode.op = "decode";
  plan.chain = {decode};
  plan.fields = {{FieldSpec::Kind::kChain, 0}};
  return plan;
}

// A coordinator without sockets: calls Step and Apply on a clock that the test moves.
class Cluster {
 public:
  Cluster() {
    RegisterPolicies(policies_);
    rules.plan.policy = policies_.Find("fifo");
    rules.native_check = AllNative;
    rules.version = "0.1.0";
  }

  // Messages without a token get that of the job or worker that they name.
  void Take(Event event) {
    if (auto* message = std::get_if<PeerMessage>(&event)) {
      GiveToken(message->body, TokenFor(state, message->body));
    }
    TakeAsItIs(event);
  }
  void TakeAsItIs(const Event& event) {
    last = Step(rules, state, event, Moment{clock.Now(), clock.WallMillis(), 0.25, 3});
    for (const Update& update : last.updates) {
      const headrace::Status applied = state.Apply(update);
      HR_CHECK(applied.ok());
    }
  }
  void Send(wire::Body body) { Take(PeerMessage{"peer", std::move(body)}); }
  // Sends a request and returns its only answer, a T.
  template <typename T>
  T Ask(wire::Body body) {
    Send(std::move(body));
    HR_CHECK(last.replies.size() == 1);
    return std::get<T>(last.replies[0].body);
  }
  void Tick() {
    BeThere();
    Take(coordinator::Tick{});
  }
  // Acts as if the coordinator had ticked all the time, twice a heartbeat.
  void BeThere() {
    if (clock.Now() - state.period_ended() <= rules.heartbeat) return;
    HR_CHECK(state.Apply(EndPeriod{clock.Now() - rules.heartbeat}).ok());
  }
  void Advance(Duration by) { clock.Advance(by); }

  wire::JobOpened OpenJob(std::string token, std::int32_t wanted = 0) {
    wire::OpenJob open;
    open.token = std::move(token);
    open.name = "train.py";
    open.host = {"node1", "boot1", 1000, 5};
    open.version = version;
    open.wanted_workers = wanted;
    return Ask<wire::JobOpened>(open);
  }
  wire::WorkerRegistered Register(std::string token,
                                  std::vector<std::string> endpoints = {"tcp://10.0.0.1:7000"}) {
    wire::RegisterWorker m;
    m.token = std::move(token);
    m.info.endpoints = std::move(endpoints);
    m.info.host = {"node1", "boot1", 1000, 6};
    m.info.cores = 4;
    m.info.version = version;
    return Ask<wire::WorkerRegistered>(m);
  }
  wire::Leases Heartbeat(const wire::JobOpened& job, std::vector<WorkerId> suspected = {}) {
    return Ask<wire::Leases>(
        wire::ConsumerHeartbeat{1, job.job, job.consumer, {}, std::move(suspected)});
  }
  wire::WorkerDirective Heartbeat(WorkerId worker) {
    wire::WorkerHeartbeat beat;
    beat.worker = worker;
    return Ask<wire::WorkerDirective>(beat);
  }
  wire::ClusterStatus Status() { return Ask<wire::ClusterStatus>(wire::StatusQuery{1}); }

  [[nodiscard]] static std::vector<Update> DurableOf(const Decision& decision) {
    std::vector<Update> durable;
    for (const Update& update : decision.updates) {
      if (IsDurable(update)) durable.push_back(update);
    }
    return durable;
  }

  Rules rules;
  State state;
  FakeClock clock;
  Decision last;
  std::string version = "0.1.0";

 private:
  PolicyRegistry policies_;
};

}  // namespace headrace::coordinator
