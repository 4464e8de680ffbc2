#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/ray/ray_text.h"

namespace headrace::coordinator {

// What a Ray pool knows of its members: what it has asked for by name, what the helper tells, and which
// workers have registered. Decides what to say to the helper; says nothing itself. Pure;
// thread-compatible.
//
//   asked, queued -> starting -> running -> draining -> gone
//
// A name is given once, and Ray makes one actor of a name. So a request may be repeated when the helper
// was lost, and none is in doubt.
class RayLedger {
 public:
  struct Outcome {
    std::vector<std::pair<WorkerId, double>> ended;  // with its CPU time
    std::vector<std::pair<std::int32_t, Status>> failed;
    std::vector<std::string> start;  // names to be asked for
  };
  // One that has registered and ends this soon was of no use.
  static constexpr Duration kUseful = std::chrono::seconds(30);

  RayLedger(std::string pool, std::int64_t epoch, std::int32_t most)
      : pool_(std::move(pool)), epoch_(epoch), most_(most) {}

  // False until a helper has listed what there is.
  [[nodiscard]] bool ready() const { return ready_; }
  [[nodiscard]] std::vector<PoolMember> List() const;

  // As Pool's. Ask gives the names that are to be started.
  [[nodiscard]] Result<std::vector<std::string>> Ask(std::int32_t count);
  [[nodiscard]] Status Drain(WorkerId worker);
  void Registered(const wire::WorkerInfo& info, SteadyTime now);
  void Leaving(WorkerId worker);
  void Lost(WorkerId worker);
  void Left(WorkerId worker);

  // What the helper tells. Trouble is none of a member's.
  [[nodiscard]] Outcome Take(const RayEvent& event, SteadyTime now);

  // The member is being ended. Nothing: there is none. Else whether Ray has started it.
  [[nodiscard]] std::optional<bool> End(const std::string& handle);

 private:
  struct Member {
    PoolMember shown;
    std::int64_t order = 0;
    std::optional<SteadyTime> registered;  // here
    bool proven = false;                   // it was a worker before this coordinator knew of it
  };
  struct Claim {
    WorkerId worker;
    bool draining = false;
  };
  using Members = std::map<std::string, Member>;

  Member* Find(WorkerId worker);
  Member& Add(const std::string& name);
  [[nodiscard]] Outcome Listed(const std::vector<std::string>& names, SteadyTime now);
  void Finish(Members::iterator member, const RayEvent& end, SteadyTime now, Outcome& outcome);

  const std::string pool_;
  const std::int64_t epoch_;
  const std::int32_t most_;
  bool ready_ = false;
  std::int64_t starts_ = 0;
  std::int64_t orders_ = 0;
  Members members_;                      // by name
  std::map<std::string, Claim> claims_;  // by name: registered before there was a list
};

}  // namespace headrace::coordinator
