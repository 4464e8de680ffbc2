#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/kubernetes/pod_seen.h"

namespace headrace::coordinator {

struct PodName {
  std::string name, uid;
};

// What a pool of Pods knows of its members, from four sources that come in any order: what the API
// server answers to a request for a Pod, what it lists, what a watch tells, and which workers have
// registered. Decides what to ask for and what to remove; asks nobody. Pure; thread-compatible.
//
//   asked -> on its way (one request) -> Pod, queued -> starting -> running -> draining -> gone
//                 \ no answer: in doubt, until the watch has shown it or a list has not
class PodLedger {
 public:
  struct Outcome {
    std::vector<WorkerId> ended;
    std::vector<std::pair<std::int32_t, Status>> failed;
    std::vector<PodName> remove;  // Pods that have ended, and are still kept by the API server

    void Add(Outcome more);
  };
  // Requests on their way at the same time.
  static constexpr std::size_t kMostOnTheirWay = 8;
  // A worker that has registered and ends this soon was of no use.
  static constexpr Duration kUseful = std::chrono::seconds(30);

  PodLedger(std::int64_t epoch, std::int32_t most) : epoch_(epoch), most_(most) {}

  // False until there was a list.
  [[nodiscard]] bool ready() const { return ready_; }
  // Whether only a list can tell what has become of a request.
  [[nodiscard]] bool in_doubt() const;
  [[nodiscard]] std::vector<PoolMember> List() const;

  // As Pool's.
  [[nodiscard]] Status Ask(std::int32_t count);
  [[nodiscard]] Status Drain(WorkerId worker);
  void Registered(const wire::WorkerInfo& info, SteadyTime now);
  void Leaving(WorkerId worker);
  void Lost(WorkerId worker);
  void Left(WorkerId worker);

  // The number of a request to be made now; nothing while enough are on their way.
  [[nodiscard]] std::optional<std::int64_t> NextStart();
  // Its answer: the Pod; that it was not made, and may be asked for again; that it is refused, as the
  // others that wait would be; or none.
  [[nodiscard]] Outcome Created(std::int64_t start, const PodSeen& pod, SteadyTime now);
  void Again(std::int64_t start);
  [[nodiscard]] Outcome Refused(std::int64_t start, const Status& why);
  void Unanswered(std::int64_t start);

  // A list begins now; what it then says.
  void ListingBegins() { ++listings_; }
  [[nodiscard]] Outcome Listed(const std::vector<PodSeen>& pods, SteadyTime now);
  // What a watch says.
  [[nodiscard]] Outcome Seen(const PodSeen& seen, SteadyTime now);
  [[nodiscard]] Outcome Gone(const PodSeen& seen, SteadyTime now);

  // The member is being ended by this pool. Nothing: there is none.
  [[nodiscard]] std::optional<PodName> End(const std::string& handle);

 private:
  struct Pod {
    PoolMember shown;
    std::string uid;
    std::int64_t order = 0;
    std::int64_t listings = 0;             // that had begun before it was known
    std::optional<SteadyTime> registered;  // here
    bool proven = false;                   // it was a worker before this coordinator knew of it
  };
  using Pods = std::map<std::string, Pod>;
  struct Claim {
    WorkerId worker;
    std::int64_t listings = 0;
    bool draining = false;
  };
  struct OnItsWay {
    std::optional<std::int64_t> doubt;  // listings that had begun when its answer did not come
  };

  Pod* Find(WorkerId worker);
  Pod& Add(const PodSeen& seen);
  static void See(Pod& pod, const PodSeen& seen);
  void Finish(const Pod& pod, const std::string& how, SteadyTime now, Outcome& outcome) const;
  [[nodiscard]] std::int32_t size() const;

  const std::int64_t epoch_;
  const std::int32_t most_;
  bool ready_ = false;
  std::int32_t asked_ = 0;
  std::map<std::int64_t, OnItsWay> on_their_way_;  // by start
  std::int64_t starts_ = 0;
  std::int64_t listings_ = 0;
  std::int64_t orders_ = 0;
  Pods pods_;                            // by name
  std::map<std::string, Claim> claims_;  // by name: registered, of Pods not known yet
};

}  // namespace headrace::coordinator
