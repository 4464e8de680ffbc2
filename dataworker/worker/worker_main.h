#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace headrace::dataworker {

struct WorkerOptions {
  std::string coordinator;  // "tcp://host:port" or "ipc:///path"; required
  // Address of the data socket: "tcp://0.0.0.0:0", "ipc:///dir/x.sock". Empty: an ipc socket in
  // `directory` for an ipc coordinator, else "tcp://0.0.0.0:0".
  std::string listen;
  // For TCP: the host name or address that trainers use for this worker. Empty: the host's name.
  std::string advertise;
  // Private directory of the ipc and arena sockets. Empty: $XDG_RUNTIME_DIR/headrace, or
  // /tmp/headrace-<uid>; made with mode 0700 when missing.
  std::string directory;
  std::int32_t threads = 0;       // compute threads; 0: usable CPUs
  std::uint64_t cache_bytes = 0;  // most bytes of the memory cache, all jobs together
  // Most bytes a second that native plans read at their sources, all jobs together, so that local
  // files can stand for a remote store; 0: no limit.
  std::uint64_t source_bytes_per_second = 0;
  // Most bytes of data (RLIMIT_DATA) of each Python process of a stage; 0: no limit.
  std::uint64_t stage_memory = 0;
  // Files are read below these directories only, links followed; none: anywhere. It binds native
  // plans: Python stages run user code, with this process's rights.
  std::vector<std::string> allowed_roots;
  std::int64_t parent_pid = 0;  // end at once when this process dies; 0: nobody's child
  // Serve trainers of this host and user alone, over sockets that nobody else can reach. Of such
  // workers of a coordinator one works at a time (AwaitLocalTurn), and none where the host has
  // another worker. When the parent dies it leaves as at SIGTERM.
  bool local = false;
};

// Runs a data worker on the calling thread until SIGTERM or SIGINT (finishes what was asked, tells
// the coordinator, then returns 0), until the coordinator drains it, or until the parent dies.
// Non-zero exit code, with one line on stderr that names the cause, when it cannot start.
int WorkerMain(const WorkerOptions& options);

}  // namespace headrace::dataworker
