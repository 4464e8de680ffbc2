#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/process/child_process.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "net/reactor.h"

namespace headrace::coordinator {

// Runs commands of an engine, such as sbatch, beside the reactor: it never waits for one. A command
// that takes longer than it may is killed, and its caller is told so at once, even if the kernel
// cannot end it (a file system that hangs). One thread, the reactor's. What still runs when this
// is destroyed is killed, and nobody is told.
class EngineCommands {
 public:
  struct Command {
    std::vector<std::string> words;                            // program first
    std::optional<std::vector<std::string>> environment = {};  // none: this process's
    std::string input = {};                                    // of its standard input
    Duration patience = std::chrono::seconds(30);
  };
  // status: Ok if it has ended with status 0; kDeadlineExceeded: it was killed; kNotFound: there is
  // no such program; kUnavailable: it ended otherwise, with what it said last on standard error.
  struct Ended {
    Status status;
    std::string output;  // of its standard output, 64 MiB at most
  };
  using Done = std::function<void(Ended)>;

  explicit EngineCommands(net::Reactor& reactor) : reactor_(reactor) {}
  EngineCommands(const EngineCommands&) = delete;
  EngineCommands& operator=(const EngineCommands&) = delete;
  ~EngineCommands();

  // Calls `done` later, never inside this call.
  void Start(Command command, Done done);
  // Runs the command and waits for it, for its patience at most: for the end of a process alone.
  static Status Run(const Command& command);

 private:
  struct Pipe {
    UniqueFd fd;
    std::string text;
  };
  struct Running {
    ChildProcess child;
    std::string program;
    Pipe output;
    Pipe errors;
    net::TimerId deadline = 0;
    Done done;  // empty: it was told
  };

  Status Spawn(const Command& command, Running& running);
  void Watch(std::int64_t number, Pipe Running::*pipe);
  void Read(std::int64_t number, Pipe Running::*pipe);
  void Close(Pipe& pipe);
  void OnDeadline(std::int64_t number);
  void OnEnd(std::int64_t number);

  net::Reactor& reactor_;
  std::map<std::int64_t, Running> running_;
  std::map<std::int64_t, net::TimerId> refused_;  // did not start; told in a turn of its own
  std::int64_t last_ = 0;
};

}  // namespace headrace::coordinator
