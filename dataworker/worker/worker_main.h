#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "dataworker/session/quotas.h"
#include "dataworker/stage/confine/confinement.h"

namespace headrace::dataworker {

struct WorkerOptions {
  std::string coordinator;  // "tcp://host:port" or "ipc:///path"; required
  // Address of the data socket: "tcp://0.0.0.0:0", "ipc:///dir/x.sock". Empty: an ipc socket in
  // `directory` for an ipc coordinator, else any port of the address by which this host reaches the
  // coordinator.
  std::string listen;
  // For TCP: the host name or address that trainers use for this worker. Empty: the address that it
  // listens at, or the host's name if it listens at all addresses.
  std::string advertise;
  // Directory of keys (net/keyring.h), used where TCP is; empty: none.
  std::string keys;
  // Allows it to listen where other hosts reach it though no keys keep strangers out.
  bool insecure = false;
  // Private directory of the ipc and arena sockets. Empty: $XDG_RUNTIME_DIR/headrace, or
  // /tmp/headrace-<uid>; made with mode 0700 when missing.
  std::string directory;
  std::int32_t threads = 0;       // compute threads; 0: usable CPUs
  std::uint64_t cache_bytes = 0;  // most bytes of the memory tier, all jobs together
  // More tiers of the cache, fastest first, each as CacheTierChoice::Parse reads it. The memory
  // tier of `cache_bytes` comes before them.
  std::vector<std::string> cache_tiers;
  // Most bytes a second that native plans read at their sources, all jobs together, so that local
  // files can stand for a remote store; 0: no limit.
  std::uint64_t source_bytes_per_second = 0;
  // Most bytes of samples that are read ahead of the compute threads, and most rows that are asked
  // of sources at the same time, all jobs together: see ReadWindow.
  std::uint64_t source_ahead_bytes = std::uint64_t{256} << 20;
  std::int32_t source_requests = 512;
  // Cached samples that take less are not asked of other workers: see CacheLease.
  std::uint64_t share_from_bytes = std::uint64_t{64} << 10;
  std::uint64_t link_bytes_per_second =
      0;                         // of this host's network, each way; 0: no limit is known
  std::string rack;              // hosts of one rack have the same; empty: not known
  std::string member;            // what the pool that started it calls it; empty: none did
  std::int32_t io_threads = 16;  // most threads that wait for files
  StageRules stages = {};
  // What the process may use of this host's memory, cache and all, but without the Python processes of
  // stages. 0: what the host or the container allows, less a part for others.
  std::uint64_t memory_bytes = 0;
  Quotas quotas = {};
  // Where it answers HTTP, and the file of the word that requests bring: web::HttpOptions. Empty: nowhere.
  std::string http_address, http_token_file;
  // Files are read only below these directories, after links are followed, and objects only below those
  // that are bases ("s3://bucket/prefix"); none: anywhere. This binds native plans, and Python stages
  // where ConfineStages can.
  std::vector<std::string> allowed_roots;
  // Stores that plans may name though they are at an address of this host or its network, or without
  // TLS; and to which it signs requests with its own credentials. See remote::EndpointRules. Those
  // of the environment come to them: remote::OptionsOfProcess.
  std::vector<std::string> allowed_endpoints;
  std::int64_t parent_pid = 0;  // end at once when this process dies; 0: nobody's child
  // Serves trainers of this host and user alone, over sockets that nobody else can reach. Of such
  // workers of a coordinator one works at a time (AwaitLocalTurn), and none if the host has another
  // worker. When the parent dies, the worker leaves as at SIGTERM.
  bool local = false;
};

// The cache tiers of this build and what may be set of each, for --help.
[[nodiscard]] std::string CacheTierHelp();

// Runs a data worker on the calling thread until SIGTERM or SIGINT, until the coordinator drains
// it, or until the parent dies. After a signal it answers the open requests, tells the coordinator,
// then returns 0. If it cannot start, it returns a non-zero exit code, with one line on stderr that
// names the cause.
int WorkerMain(const WorkerOptions& options);

}  // namespace headrace::dataworker
