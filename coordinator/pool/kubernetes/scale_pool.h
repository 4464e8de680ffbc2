#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/kubernetes/kube_client.h"
#include "coordinator/pool/kubernetes/kube_reply.h"
#include "coordinator/pool/kubernetes/pod_feed.h"
#include "coordinator/pool/kubernetes/scale_ledger.h"

namespace headrace::coordinator {

struct ScaleTarget {
  std::string resource, name;  // "deployments", "workers"

  // "deployments/NAME", "statefulsets/NAME", or in the singular. kInvalidArgument: none of these.
  static Result<ScaleTarget> Read(const std::string& text);
};

// The number and the Pods of a scale object. kUnavailable: it is none. Pure.
struct ScaleSeen {
  std::int32_t replicas = 0;  // none in the JSON is 0
  std::string selector;

  static Result<ScaleSeen> Read(std::string_view json);
};

// Where nobody may make Pods: sets how many a Deployment or StatefulSet has. To end one it marks it
// with a low cost, and then says one fewer. Both are best effort: the mark is a hint, and a worker that
// leaves before the engine has heard is started again. Reactor thread only.
class ScalePool final : public Pool {
 public:
  struct Rules {
    KubeAccess access;
    ScaleTarget target;
    std::int64_t cores = 1;  // of a worker
    Duration patience = std::chrono::seconds(30);
    bool keep_at_stop = false;
  };
  ScalePool(net::Reactor& reactor, PoolOptions options, PoolEvents events, Rules rules);
  ~ScalePool() override { Stop(); }

  [[nodiscard]] std::string_view name() const override { return "kubernetes"; }
  [[nodiscard]] double member_cores() const override { return static_cast<double>(rules_.cores); }
  [[nodiscard]] bool ready() const override { return ledger_.ready(); }
  Status Grow(std::int32_t count) override;
  Status Drain(WorkerId worker) override;
  Status Kill(const std::string& handle, Duration grace) override;
  [[nodiscard]] std::string_view Remedy(Detail trouble) const override {
    return KubeRemedy(trouble);
  }
  [[nodiscard]] std::vector<PoolMember> List() const override;
  void Registered(const wire::WorkerInfo& info) override { ledger_.Registered(info); }
  void Leaving(WorkerId worker) override { ledger_.Leaving(worker); }
  void Lost(WorkerId worker) override { ledger_.Lost(worker); }
  void Left(WorkerId worker) override { ledger_.Left(worker); }
  [[nodiscard]] std::optional<bool> Alive(WorkerId) const override { return std::nullopt; }
  void Stop() override;

 private:
  void Soon(Duration pause);
  void Act();
  void AskForNumber();
  void Follow(const std::string& selector);
  void Mark(const std::string& pod);
  [[nodiscard]] KubeClient::Query ScaleTo(std::int32_t count) const;
  void Tell(std::int32_t count);
  void End(const std::vector<WorkerId>& workers);
  void Fail(std::int32_t count, const Status& why);

  net::Reactor& reactor_;
  const PoolOptions options_;
  const PoolEvents events_;
  const Rules rules_;
  ScaleLedger ledger_;
  std::unique_ptr<KubeClient> client_;
  std::unique_ptr<PodFeed> feed_;  // after the client, which it uses
  std::optional<net::TimerId> soon_;
  int marking_ = 0;  // marks without an answer
  bool telling_ = false;
  bool stopped_ = false;
};

}  // namespace headrace::coordinator
