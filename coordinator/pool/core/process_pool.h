#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/process/child_process.h"
#include "coordinator/pool/core/engine_commands.h"
#include "coordinator/pool/core/pool.h"

namespace headrace::coordinator {

// How one kind of process pool starts and ends its members.
struct ProcessPoolRules {
  std::string name;  // of the kind
  // The command line of the member with this handle.
  std::function<std::vector<std::string>(const std::string& handle)> command;
  // Ends the member with this handle. Not set, or no words: SIGTERM to its process ends it.
  std::function<std::vector<std::string>(const std::string& handle)> stop_command = nullptr;
  std::chrono::milliseconds stop_grace{2000};
  double member_cores = 0;
  // The command is not the worker: it may start one elsewhere (ssh, podman), which lives on when
  // this coordinator dies. Then workers that a coordinator of this name left behind are members
  // when they register; one that is silent may be replaced though its command runs; and signals
  // go to all processes of a command.
  bool elsewhere = false;
  bool keep_at_stop = false;  // Stop leaves the members alone
};

// Members that are child processes of the coordinator. One that ends unasked is started again after
// a pause that doubles up to a cap. Reactor thread only.
class ProcessPool final : public Pool {
 public:
  // REQUIRES: options.settings are not used here; the kind has read them.
  ProcessPool(net::Reactor& reactor, PoolOptions options, PoolEvents events,
              ProcessPoolRules rules);
  ~ProcessPool() override { Stop(); }

  [[nodiscard]] std::string_view name() const override { return rules_.name; }
  [[nodiscard]] double member_cores() const override { return rules_.member_cores; }
  Status Grow(std::int32_t count) override;
  Status Drain(WorkerId worker) override;
  Status Kill(const std::string& handle, Duration grace) override;
  [[nodiscard]] std::vector<PoolMember> List() const override;
  void Registered(const wire::WorkerInfo& info) override;
  void Lost(WorkerId worker) override;
  void Left(WorkerId worker) override;
  [[nodiscard]] std::optional<bool> Alive(WorkerId worker) const override;
  void Stop() override;

 private:
  struct Member {
    PoolMember shown;
    std::optional<ChildProcess> child;  // none: it waits, or was adopted
    SteadyTime started;
    std::int32_t failures = 0;            // in a row
    std::optional<net::TimerId> restart;  // or the end of its grace
  };
  using Members = std::map<std::int64_t, Member>;

  Members::iterator Find(WorkerId worker);
  Members::iterator Find(const std::string& handle);
  void Erase(Members::iterator member);
  Status Start(std::int64_t key, Member& member);
  [[nodiscard]] std::vector<std::string> StopCommand(const Member& member) const;
  void Signal(Member& member, int number) const;
  void Adopt(const wire::WorkerInfo& info);
  void OnEnd(std::int64_t key);
  void ScheduleRestart(std::int64_t key, Member& member);
  void Restart(std::int64_t key);

  net::Reactor& reactor_;
  const PoolOptions options_;
  const PoolEvents events_;
  const ProcessPoolRules rules_;
  EngineCommands commands_;
  Members members_;
  std::int64_t next_key_ = 0;
  bool stopped_ = false;
};

}  // namespace headrace::coordinator
