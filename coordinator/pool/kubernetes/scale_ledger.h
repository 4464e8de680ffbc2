#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/kubernetes/pod_seen.h"

namespace headrace::coordinator {

// What a pool knows that only says how many Pods a Deployment or StatefulSet has. Which Pod goes when
// there are to be fewer is the engine's choice; a victim's mark is a request. An engine that starts a
// Pod again, or takes another one, is believed: what there is is listed. Pure; thread-compatible.
class ScaleLedger {
 public:
  explicit ScaleLedger(std::int32_t most) : most_(most) {}

  // False until the number and the Pods were heard once.
  [[nodiscard]] bool ready() const { return known_ && listed_; }
  [[nodiscard]] std::vector<PoolMember> List() const;

  // As Pool's.
  [[nodiscard]] Status Ask(std::int32_t count);
  [[nodiscard]] Status Drain(WorkerId worker);
  [[nodiscard]] Status End(const std::string& handle);
  void Registered(const wire::WorkerInfo& info);
  void Leaving(WorkerId worker);
  void Lost(WorkerId worker);
  void Left(WorkerId worker);

  // The number that the engine has, and then that it was told.
  void Replicas(std::int32_t count);
  // What it is to be told; nothing: it knows.
  [[nodiscard]] std::optional<std::int32_t> Wanted() const;
  // Victims that are to be marked before it is told of fewer. Each is given once.
  [[nodiscard]] std::vector<std::string> TakeVictims();
  // It does not take the number. How many members will not come.
  [[nodiscard]] std::int32_t Refused();

  // What a list and a watch say. Workers that have ended.
  [[nodiscard]] std::vector<WorkerId> Listed(const std::vector<PodSeen>& pods);
  [[nodiscard]] std::vector<WorkerId> Seen(const PodSeen& seen);
  [[nodiscard]] std::vector<WorkerId> Gone(const PodSeen& seen);

 private:
  struct Pod {
    PoolMember shown;
    std::int64_t order = 0;
    bool deleting = false;
    bool victim = false;
    bool marked = false;
  };

  Pod* Find(WorkerId worker);
  void MakeVictim(Pod& pod);
  [[nodiscard]] std::int32_t lacking() const;
  void Pardon();

  const std::int32_t most_;
  bool known_ = false, listed_ = false;
  std::int32_t wanted_ = 0;
  std::int32_t told_ = 0;
  std::int64_t orders_ = 0;
  std::map<std::string, Pod> pods_;         // by name
  std::map<std::string, WorkerId> claims_;  // by name: registered, of Pods not known yet
};

}  // namespace headrace::coordinator
