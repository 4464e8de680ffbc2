#include "trainer_client/session_shared.h"

#include <algorithm>
#include <utility>

namespace headrace::client {
namespace {

// A signal that arrives on another thread is noticed within one slice.
constexpr std::chrono::milliseconds kSlice{100};

}  // namespace

Result<SessionShared::Taken> SessionShared::Next(std::chrono::milliseconds timeout, Clock& clock) {
  std::unique_lock lock(mutex_);
  SteadyTime now = clock.Now();
  const SteadyTime deadline = now + timeout;
  meter_.EnterNext(now);
  Taken taken;
  Status status;
  for (;;) {
    if (!needed_.empty()) {
      taken.sample = std::move(needed_.front());
      needed_.pop_front();
      break;
    }
    if ((taken.batch = buffer_.Take())) break;
    if (interrupted_) {
      interrupted_ = false;
      status = Status(Code::kCancelled, "interrupted");
      break;
    }
    if (!closed_.ok() || !trouble_.ok()) {
      status = closed_.ok() ? std::exchange(trouble_, Status::Ok()) : closed_;
      break;
    }
    now = clock.Now();
    if (now >= deadline) {
      status = Status(Code::kDeadlineExceeded, "no batch is ready yet");
      break;
    }
    waiting_ = true;
    changed_.wait_for(lock, std::min<Duration>(kSlice, deadline - now));
    waiting_ = false;
  }
  meter_.LeaveNext(clock.Now());
  if (taken.batch) {
    delivered_.push_back(taken.batch->batch.batch);
    if (!taken.batch->batch.lane_ended) ++stats_.batches;
    stats_.samples += static_cast<std::uint64_t>(taken.batch->samples);
    if (taken.batch->batch.worker >= 0) {
      stats_.samples_by_worker[taken.batch->batch.worker] +=
          static_cast<std::uint64_t>(taken.batch->samples) - taken.batch->batch.missing.size();
    }
    stats_.missing_samples += taken.batch->batch.missing.size();
    std::uint64_t& bytes =
        taken.batch->batch.transport == Transport::kShm ? stats_.shm_bytes : stats_.tcp_bytes;
    bytes += taken.batch->batch.bytes;
  }
  if (!status.ok()) return status;
  return taken;
}

Status SessionShared::AwaitServed(std::chrono::milliseconds timeout, Clock& clock) {
  std::unique_lock lock(mutex_);
  const SteadyTime deadline = clock.Now() + timeout;
  for (;;) {
    if (!closed_.ok()) return closed_;
    if (served_) return Status::Ok();
    if (!trouble_.ok()) return std::exchange(trouble_, Status::Ok());
    const SteadyTime now = clock.Now();
    if (now >= deadline) return {Code::kDeadlineExceeded, "no worker serves the session yet"};
    changed_.wait_for(lock, std::min<Duration>(kSlice, deadline - now));
  }
}

void SessionShared::Interrupt() {
  {
    const std::scoped_lock lock(mutex_);
    interrupted_ = true;
  }
  changed_.notify_one();
}

void SessionShared::Close(Status why) {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = std::move(why);
  }
  changed_.notify_one();
}

SessionStats SessionShared::Stats() const {
  const std::scoped_lock lock(mutex_);
  SessionStats stats = stats_;
  stats.stall_ns = meter_.stall_ns();
  stats.step_ns = meter_.step_ns();
  return stats;
}

}  // namespace headrace::client
