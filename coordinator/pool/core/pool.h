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

// Where workers come from. A pool starts processes through an existing engine, or only knows of
// them. It does not talk to them: a worker registers at the coordinator, which tells the pool. Each
// pool has its own folder (docs/howto/add-pool.md).
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
  Settings settings;  // settings of this kind of pool; the registry has checked them
};

struct PoolEvents {
  // A member's process has ended. cpu_seconds: all that it used; 0 if unknown.
  std::function<void(WorkerId worker, double cpu_seconds)> on_ended;
  // `count` members that Grow took on will not come, and are not listed any more. why: what the
  // engine said. An engine may take seconds to say so.
  std::function<void(std::int32_t count, const Status& why)> on_failed;
};

// Reactor thread only. Callbacks never run inside a call into the pool.
class Pool {
 public:
  virtual ~Pool() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;

  // Takes on `count` more members, listed as kStarting until they register or on_failed says that
  // they never will. A member that ends unasked is started again after a pause that doubles each
  // time. After an error, which says what is known at once, nothing was taken on. kInfeasible: this
  // pool cannot start any. kResourceExhausted: more than most_members. kNotFound, kUnavailable: the
  // engine failed (the message says how).
  virtual Status Grow(std::int32_t count) = 0;
  // Lets the member end when it likes, without a replacement. kNotFound: not a member.
  virtual Status Drain(WorkerId worker) = 0;
  [[nodiscard]] virtual std::vector<PoolMember> List() const = 0;

  // The coordinator tells the pool that a worker has registered, or is gone for good.
  virtual void Registered(const wire::WorkerInfo& info) = 0;
  virtual void Left(WorkerId worker) = 0;
  // Says whether the member's process is there. Nothing: this pool cannot know.
  [[nodiscard]] virtual std::optional<bool> Alive(WorkerId worker) const = 0;

  // Ends all members that it started, and kills those that take too long. Idempotent.
  // No member can be started after it.
  virtual void Stop() = 0;
};

using PoolFactory =
    std::function<Result<std::unique_ptr<Pool>>(net::Reactor&, PoolOptions, PoolEvents)>;

// What a pool's folder says about the pool.
struct PoolDescriptor {
  std::string name;
  std::string summary;  // a phrase, for --help
  std::vector<Setting> settings;
  PoolFactory make;
};

// The pools of this build by name. Thread-compatible; immutable once filled.
class PoolRegistry {
 public:
  // REQUIRES: no other pool of that name.
  void Register(PoolDescriptor descriptor);
  // `given`: settings as the user wrote them; the others have their defaults. kNotFound: no pool of
  // that name (the message lists them). kInvalidArgument: a setting that the pool does not have, or
  // a value of another kind (the message names both).
  [[nodiscard]] Result<std::unique_ptr<Pool>> Make(std::string_view name,
                                                   const GivenSettings& given,
                                                   net::Reactor& reactor, PoolOptions options,
                                                   PoolEvents events) const;
  // Gives the pools in the order of their names.
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
