#pragma once

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/process/stats.h"
#include "base/result.h"
#include "dataworker/memory/memory_map.h"
#include "dataworker/stage/frame_socket.h"
#include "dataworker/stage/stage_gate.h"
#include "dataworker/stage/stage_hosts.h"
#include "dataworker/stage/stage_job.h"

namespace headrace::dataworker {

// The worker's view of a process that makes batches of a session's Python plan, one at a time. It
// has the socket to the process, its memory, and what it uses. A busy one may be given the batch
// after the one that it makes, which it begins by itself. One thread.
//
//   idle -Begin-> busy -Begin-> busy, with a next one -TakeJob-> busy -TakeJob-> idle
class StageHost {
 public:
  StageHost(std::uint64_t id, const StageHosts::Lane& lane, StageHosts::Begun begun)
      : id_(id), lane_(lane), pid_(begun.pid), socket_(std::move(begun.socket)) {}

  [[nodiscard]] std::uint64_t id() const { return id_; }
  [[nodiscard]] const StageHosts::Lane& lane() const { return lane_; }
  [[nodiscard]] std::int64_t pid() const { return pid_; }  // 0: not told yet
  void SetPid(std::int64_t pid) { pid_ = pid; }
  [[nodiscard]] FrameSocket& socket() { return socket_; }
  [[nodiscard]] const FrameSocket& socket() const { return socket_; }

  // True: no frame comes any more. The zygote will soon report the end and its cause.
  void HangUp() { hung_up_ = true; }
  [[nodiscard]] bool hung_up() const { return hung_up_; }
  // The batch that the host makes; nullptr: none.
  [[nodiscard]] StageJob* job() const { return job_.get(); }
  // The batch that it makes after that one; nullptr: none.
  [[nodiscard]] StageJob* next() const { return next_.get(); }
  [[nodiscard]] bool idle() const { return !job_ && !hung_up_; }
  // Whether Begin may give it a next batch.
  [[nodiscard]] bool takes_next() const { return job_ && !next_ && !hung_up_; }
  // True: it has been asked for a batch.
  [[nodiscard]] bool begun() const { return begun_; }

  // Asks the process for the batch, with the memory to write it into. The host keeps the job also
  // when this fails. kResourceExhausted: the worker has no memory or no descriptors for it. Any
  // other code: the process does not listen.
  // REQUIRES: idle(); or takes_next(), and the job has an arena.
  Status Begin(std::unique_ptr<StageJob> job, SteadyTime now);
  // Takes the batch that it makes, or has made. It makes the next one since `now`.
  [[nodiscard]] std::unique_ptr<StageJob> TakeJob(SteadyTime now = {});
  // Takes all, in their order, because the process makes none of them any more.
  [[nodiscard]] std::vector<std::unique_ptr<StageJob>> TakeJobs();

  // REQUIRES: job() is set.
  [[nodiscard]] StageGate::Running Running(SteadyTime now) const;
  // Returns the bytes that it has read for the batch that ends now. Called once a batch. REQUIRES:
  // job() is set.
  [[nodiscard]] std::uint64_t TakeReadBytes();

 private:
  Status GiveMemory(StageJob& job);
  Status GiveRequest(StageJob& job);

  std::uint64_t id_;
  StageHosts::Lane lane_;
  std::int64_t pid_;
  std::uint64_t cpu_ns_then_ = 0;      // of the process when its batch began
  std::uint64_t read_bytes_then_ = 0;  // at the end of its last batch: it may read between two
  ProcessReads reads_;
  FrameSocket socket_;
  bool begun_ = false;
  bool hung_up_ = false;
  std::shared_ptr<ArenaMap> arena_;  // the last one that it was given
  std::shared_ptr<ArenaMap> spare_;  // memory of its own, for batches without an arena
  std::unique_ptr<StageJob> job_, next_;
};

}  // namespace headrace::dataworker
