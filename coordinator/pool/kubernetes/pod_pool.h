#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/kubernetes/kube_client.h"
#include "coordinator/pool/kubernetes/kube_reply.h"
#include "coordinator/pool/kubernetes/pod_feed.h"
#include "coordinator/pool/kubernetes/pod_ledger.h"
#include "coordinator/pool/kubernetes/pod_manifest.h"

namespace headrace::coordinator {

// Workers that are Pods of this pool's own: one request makes one, and a DELETE ends exactly that one.
// Kubernetes starts none again: what ends is gone from the list, and the coordinator asks for another.
// A Pod that others delete (a node that is drained, an eviction, pre-emption) is leaving.
// Reactor thread only. Methods: those of a pool, and one for each step of a request.
class PodPool final : public Pool {
 public:
  struct Rules {
    KubeAccess access;
    PodWishes wishes;
    std::optional<PodOwner> owner;                 // without a uid: it is asked for
    Duration patience = std::chrono::seconds(30);  // with the API server
    bool keep_at_stop = false;
  };

  // The wishes make a Pod: WorkerPod has said so.
  PodPool(net::Reactor& reactor, PoolOptions options, PoolEvents events, Rules rules);
  ~PodPool() override { Stop(); }

  [[nodiscard]] std::string_view name() const override { return "kubernetes"; }
  [[nodiscard]] double member_cores() const override {
    return static_cast<double>(rules_.wishes.cores);
  }
  [[nodiscard]] bool ready() const override { return ledger_.ready(); }
  Status Grow(std::int32_t count) override;
  Status Drain(WorkerId worker) override { return ledger_.Drain(worker); }
  Status Kill(const std::string& handle, Duration grace) override;
  [[nodiscard]] std::string_view Remedy(Detail trouble) const override {
    return KubeRemedy(trouble);
  }
  [[nodiscard]] std::vector<PoolMember> List() const override;
  void Registered(const wire::WorkerInfo& info) override;
  void Leaving(WorkerId worker) override { ledger_.Leaving(worker); }
  void Lost(WorkerId worker) override { ledger_.Lost(worker); }
  void Left(WorkerId worker) override { ledger_.Left(worker); }
  // Kubernetes takes minutes to find that a node is lost, and tells of an end by itself.
  [[nodiscard]] std::optional<bool> Alive(WorkerId) const override { return std::nullopt; }
  void Stop() override;

 private:
  void Soon(Duration pause);
  void Submit();
  void AskForOwner();
  void Post(std::int64_t start);
  void OnPosted(std::int64_t start, const KubeVerdict& verdict, const std::string& body);
  void Pause(const KubeVerdict& verdict);
  void Delete(const PodName& pod, std::int64_t grace_s);
  void Tell(const PodLedger::Outcome& outcome);
  void Fail(const Status& why);
  [[nodiscard]] SteadyTime Now() const { return reactor_.clock().Now(); }

  net::Reactor& reactor_;
  const PoolOptions options_;
  const PoolEvents events_;
  const Rules rules_;
  const PodOrigin origin_;
  std::optional<PodOwner> owner_;
  bool asks_for_owner_ = false;
  PodLedger ledger_;
  std::unique_ptr<KubeClient> client_;
  std::unique_ptr<PodFeed> feed_;  // after the client, which it uses
  std::optional<net::TimerId> soon_;
  SteadyTime quiet_until_ = SteadyTime::min();  // no request for a Pod before
  int refusals_ = 0;                            // in a row, of requests that may be made again
  bool stopped_ = false;
};

}  // namespace headrace::coordinator
