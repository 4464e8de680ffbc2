#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
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
    kQueued,    // the engine was asked for it, and has not started it
    kStarting,  // started, not registered yet
    kRunning,
    kWaiting,   // it ended; another start is due after a pause
    kDraining,  // ends by itself or is being ended; not replaced by the pool
    kLost,      // its worker is silent, and another member may take its place
  };
  State state = State::kStarting;
  // What the engine calls it: one start of one member. The worker says it when it registers
  // (WorkerInfo::member). Empty: the engine has not told yet, or the pool needs none.
  std::string handle = {};
  std::string note = {};       // the engine's word: why it waits, where it runs
  Detail why = Detail::kNone;  // what kind of trouble that word is of, if it is
  WorkerId worker = {};        // once it has registered
  std::int64_t pid = 0;        // on this host; 0: elsewhere, or none at the moment
  std::int32_t starts = 0;
};

struct PoolOptions {
  // The command line of one worker, program first. A pool whose members are elsewhere adds what
  // they are to have (threads, cache) and what it calls them. Unused by `static`.
  std::vector<std::string> worker_command;
  std::int32_t most_members = 1024;
  // Marks what this pool starts: a word of [A-Za-z0-9.-]. Members that a coordinator of the same
  // name has left behind are this pool's: workers belong to the address that they were given, of
  // which the name is made (PoolName).
  std::string name = "headrace";
  // Tells the starts of this coordinator from those of one before it: when it began, in
  // milliseconds of the wall clock.
  std::int64_t epoch = 0;
  Settings settings;  // settings of this kind of pool; the registry has checked them
};

struct PoolEvents {
  // A member's process has ended. cpu_seconds: all that it used; 0 if unknown.
  std::function<void(WorkerId worker, double cpu_seconds)> on_ended;
  // `count` members that Grow took on will not come, or came and ended at once, and are not listed
  // any more. 0: the engine fails, and nobody knows whom that concerns. why: what the engine said.
  // An engine may take hours to say so.
  std::function<void(std::int32_t count, const Status& why)> on_failed;
};

// Reactor thread only. Nothing blocks, except Stop. Callbacks never run inside a call into the pool.
class Pool {
 public:
  virtual ~Pool() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // Cores of one member; 0: this pool does not say.
  [[nodiscard]] virtual double member_cores() const { return 0; }
  // False: it only knows of workers that others start and end, as a scaler does by the metric
  // `desired_workers`.
  [[nodiscard]] virtual bool starts_workers() const { return true; }
  // False until the pool knows what a coordinator before this one has left behind. Grow then fails
  // with kUnavailable, and List may lack members.
  [[nodiscard]] virtual bool ready() const { return true; }

  // What a person should do about a trouble of this kind, in one sentence for all that this engine knows of
  // it; empty: there is nothing to say of this engine alone (GeneralRemedy).
  [[nodiscard]] virtual std::string_view Remedy(Detail) const { return ""; }

  // Takes on `count` more members, listed until they end or on_failed says that they never come.
  // After an error, which says what is known at once, nothing was taken on. kInfeasible: this
  // pool cannot start any. kResourceExhausted: more than most_members. kNotFound, kUnavailable: the
  // engine failed (the message says how). A member that ends unasked is started again by the pool,
  // after a pause that doubles each time, or is listed no more: then the coordinator asks for
  // another where it wants one.
  virtual Status Grow(std::int32_t count) = 0;
  // Lets the member end when it likes, without a replacement; the coordinator has told the worker.
  // kNotFound: not a member.
  virtual Status Drain(WorkerId worker) = 0;
  // Ends the member, without a replacement: asks it to by SIGTERM, at which a worker leaves in
  // order, and kills it `grace` later. kNotFound: no member has that handle. kUnavailable: the pool
  // has no way to end it.
  virtual Status Kill(const std::string& handle, Duration grace) = 0;
  [[nodiscard]] virtual std::vector<PoolMember> List() const = 0;

  // The coordinator tells the pool what it hears of a worker. It has registered, now or at a
  // coordinator before this one, or is back after it was lost:
  virtual void Registered(const wire::WorkerInfo& info) = 0;
  // It leaves though nobody here has asked it to: its host or its engine did, with a notice.
  virtual void Leaving(WorkerId) {}
  // It is silent.
  virtual void Lost(WorkerId) {}
  // It is gone for good.
  virtual void Left(WorkerId worker) = 0;
  // Says whether the member's process is there. Nothing: this pool cannot know.
  [[nodiscard]] virtual std::optional<bool> Alive(WorkerId worker) const = 0;

  // Ends all members, and kills those that take too long. May block for as long as a setting of the
  // pool says. Idempotent. No member can be started after it.
  virtual void Stop() = 0;
};

using PoolFactory =
    std::function<Result<std::unique_ptr<Pool>>(net::Reactor&, PoolOptions, PoolEvents)>;

// What a pool's folder says about the pool.
struct PoolDescriptor {
  std::string name;
  std::string summary;  // a phrase, for --help
  std::vector<Setting> settings;
  // Its members run beside the coordinator, and divide this host's CPUs and the coordinator's
  // --threads and --cache.
  bool on_this_host = false;
  PoolFactory make;
};

// The name of the pool whose workers reach their coordinator at `endpoint`: "headrace-head-7070" for
// tcp://head:7070. Two coordinators cannot have one address at the same time.
[[nodiscard]] std::string PoolName(std::string_view endpoint);

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
  // nullptr: no pool of that name.
  [[nodiscard]] const PoolDescriptor* Find(std::string_view name) const;

 private:
  std::map<std::string, PoolDescriptor, std::less<>> pools_;
};

}  // namespace headrace::coordinator

namespace headrace {
// Generated from the folders beside this one.
void RegisterPools(coordinator::PoolRegistry& registry);
}  // namespace headrace
