#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/graph.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/source/core/source.h"
#include "dataworker/stage/confine/confinement.h"
#include "dataworker/stage/frame_socket.h"
#include "net/reactor.h"

namespace headrace::dataworker {

// The Python interpreters of a worker. One serves all sessions of a job that want the same. It has
// imported the modules that take long, and forks a zygote for each session
// (headrace/stage/base.py).
//
//   begun -FORKED-> running -ENDED-> ended
//     |---BECAME-> running, the interpreter itself: its imports left what must not be forked
//     '---UNFIT, or the interpreter is lost-> begun once more, in a fresh one of its own
//
// Zygotes die with their interpreter, and all of them with this object or the worker. Reactor
// thread.
// Methods: one for each frame of an interpreter, and each arrow above.
class StageBases {
 public:
  struct Options {
    std::string executable;  // of Python
    JobId job;               // the job that owns the code
    PythonStage stage;
    Confinement confinement;  // of each process
  };
  struct Events {
    std::function<void(std::int64_t pid)> on_started;
    std::function<void(const std::string& how)> on_ended;  // once, and last: a sentence
  };
  // An interpreter without sessions ends after `idle_for` to twice that time. It ends earlier if
  // kMostIdle others have been idle for less time.
  explicit StageBases(net::Reactor& reactor, Duration idle_for = std::chrono::minutes(10))
      : reactor_(reactor), idle_for_(idle_for) {}
  ~StageBases();
  StageBases(const StageBases&) = delete;
  StageBases& operator=(const StageBases&) = delete;
  static constexpr std::size_t kMostIdle = 2;

  // Starts the interpreter for later sessions.
  void Warm(const Options& options);
  // Begins a zygote that loads `bundle` and serves on `theirs`, and returns its number. It runs no
  // callback inside the call. `door`: where it and its forks ask for objects (ObjectDoor), open until
  // End; -1: nowhere. kUnsupported: no such interpreter. kResourceExhausted: no memory, no
  // descriptors.
  Result<std::uint64_t> Begin(const Options& options, const BlobContent& bundle, UniqueFd theirs,
                              int door, Events events);
  // Notes that the zygote has loaded its bundle, so that it does not begin in another interpreter
  // any more. The interpreter's FORKED may come later than the zygote's own frames, or never.
  void MarkBegun(std::uint64_t session);
  // Kills it; on_ended follows.
  void Kill(std::uint64_t session);
  // Kills it; nothing follows.
  void End(std::uint64_t session);
  // The processes of interpreters, without those that are the zygote of their session.
  [[nodiscard]] std::vector<std::int64_t> pids() const;

 private:
  struct Base {
    Options options;
    std::int64_t pid = 0;
    bool alone = false;                  // serves one session
    bool retired = false;                // begins no more sessions
    std::uint64_t became = 0;            // the session whose zygote it has become
    std::optional<FrameSocket> control;  // nullopt: it has hung up, or became a zygote
    SteadyTime idle_since{};
    net::TimerId reap_timer = 0;  // 0: none
  };
  struct Session {
    std::uint64_t base = 0;
    bool moved = false;
    Events events;
    UniqueFd theirs, bundle;  // held until it has begun
    int door = -1;
  };

  [[nodiscard]] std::uint64_t Find(const Options& options) const;  // 0: none
  Result<std::uint64_t> Spawn(const Options& options);
  [[nodiscard]] bool IsAlone(const Options& options) const;
  void MarkAlone(const Options& options);
  Status Hand(std::uint64_t id, Session& session, std::uint64_t base);
  void Move(std::uint64_t session);
  void OnReadable(std::uint64_t base);
  void OnFrame(std::uint64_t base, const StageFrame& frame);
  void OnBecame(std::uint64_t base, std::uint64_t session);
  void OnEnded(std::uint64_t session, const std::string& how);
  void OnHangup(std::uint64_t base);
  void AwaitEnd(std::uint64_t base);
  void Reap(std::uint64_t base);
  [[nodiscard]] bool IsIdle(std::uint64_t base) const;
  void WhenIdle(std::uint64_t base);
  void EndIdle();
  void Discard(std::uint64_t base);
  void Erase(std::uint64_t base);

  net::Reactor& reactor_;
  const Duration idle_for_;
  std::map<std::uint64_t, Base> bases_;
  std::map<std::uint64_t, Session> sessions_;
  std::deque<Options> alone_;  // options of interpreters that can't fork
  std::uint64_t next_ = 1;
  net::TimerId idle_timer_ = 0;  // 0: none
};

}  // namespace headrace::dataworker
