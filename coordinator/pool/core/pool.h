#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/result.h"
#include "base/settings.h"
#include "net/reactor.h"
#include "schemas/wire/control.h"

// Where workers come from. A pool starts processes through an engine that exists already, or merely
// knows of them; it does not talk to them: a worker registers itself at the coordinator, which
// tells the pool. One folder each (docs/howto/add-pool.md).
namespace headrace::coordinator {

struct PoolMember {
  enum class State : std::uint8_t {
    kStarting,  // started, not registered yet
    kRunning,
    kWaiting,   // it ended; another start is due after a pause
    kDraining,  // finishes what it was asked; not replaced
  };
  State state = State::kStarting;
  WorkerId worker;       // once it has registered
  std::int64_t pid = 0;  // on this host; 0: elsewhere, or none at the moment
  std::int32_t starts = 0;
};

struct PoolOptions {
  // The command line of one worker, program first; the pool adds nothing. Unused by `static`.
  std::vector<std::string> worker_command;
  std::int32_t most_members = 1024;
  Settings settings;  // of this kind of pool; the registry has checked them
};

struct PoolEvents {
  // A member's process has ended; cpu_seconds: what it used in all, 0 if unknown.
  std::function<void(WorkerId worker, double cpu_seconds)> on_ended;
  // `count` members that Grow took on will not come, and are not listed any more; why: what the
  // engine said. An engine may take seconds to say so.
  std::function<void(std::int32_t count, const Status& why)> on_failed;
};

// Reactor thread only. Callbacks never run inside a call into the pool.
class Pool {
 public:
  virtual ~Pool() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  // Takes on `count` more members: they are listed as kStarting from now on, and end there when they
  // register or on_failed says that they never will. Errors say what is known at once, and nothing
  // was taken on then. kInfeasible: this pool cannot start any. kResourceExhausted: more than
  // most_members. kNotFound, kUnavailable: the engine failed (message says how). A member that ends
  // unasked is started again after a pause that doubles each time.
  virtual Status Grow(std::int32_t count) = 0;
  // The member may end when it likes and is not replaced. kNotFound: not a member.
  virtual Status Drain(WorkerId worker) = 0;
  [[nodiscard]] virtual std::vector<PoolMember> List() const = 0;

  // The coordinator's word that a worker has registered, or is gone for good.
  virtual void Registered(const wire::WorkerInfo& info) = 0;
  virtual void Left(WorkerId worker) = 0;
  // Whether the member's process is there; nothing if this pool cannot know.
  [[nodiscard]] virtual std::optional<bool> Alive(WorkerId worker) const = 0;

  // Ends all members that it started, the slow ones by force after stop_grace. Idempotent; nothing
  // can be started afterwards.
  virtual void Stop() = 0;
};

using PoolFactory =
    std::function<Result<std::unique_ptr<Pool>>(net::Reactor&, PoolOptions, PoolEvents)>;

// What a pool's folder says of it.
struct PoolDescriptor {
  std::string name;
  std::string summary;  // a phrase, for --help
  std::vector<Setting> settings;
  PoolFactory make;
};

// The pools of this build by name. Thread-compatible; immutable once filled.
class PoolRegistry {
 public:
  // REQUIRES: no other of that name.
  void Register(PoolDescriptor descriptor);
  // `given`: settings as the user wrote them; the others have their defaults. kNotFound: no pool of
  // that name (message lists them). kInvalidArgument: a setting that it does not have, or a value
  // of another kind (message names both).
  [[nodiscard]] Result<std::unique_ptr<Pool>> Make(std::string_view name,
                                                   const GivenSettings& given,
                                                   net::Reactor& reactor, PoolOptions options,
                                                   PoolEvents events) const;
  // In the order of their names.
  [[nodiscard]] std::vector<const PoolDescriptor*> All() const;
  [[nodiscard]] std::vector<std::string> Names() const;

 private:
  std::map<std::string, PoolDescriptor, std::less<>> pools_;
};

}  // namespace headrace::coordinator

namespace headrace {
// Generated from the folders beside this one.
void RegisterPools(coordinator::PoolRegistry& registry);
}  // namespace headrace
