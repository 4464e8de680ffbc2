#include "trainer_client/session/batch_mailbox.h"

#include <algorithm>
#include <utility>

namespace headrace::client {
namespace {

// A signal that arrives on another thread is noticed within one slice.
constexpr std::chrono::milliseconds kSlice{100};

std::uint64_t Nanos(Duration duration) { return static_cast<std::uint64_t>(duration.count()); }

void SetWaits(const WaitByCause& wait, SessionStats& stats) {
  stats.stall_ns = Nanos(wait.Sum());
  stats.wait_sampler_ns = Nanos(wait[WaitCause::kSampler]);
  stats.wait_source_ns = Nanos(wait[WaitCause::kSource]);
  stats.wait_compute_ns = Nanos(wait[WaitCause::kCompute]);
  stats.wait_python_ns = Nanos(wait[WaitCause::kPython]);
  stats.wait_queue_ns = Nanos(wait[WaitCause::kQueue]);
  stats.wait_network_ns = Nanos(wait[WaitCause::kNetwork]);
  stats.wait_copy_ns = Nanos(wait[WaitCause::kCopy]);
}

}  // namespace

Result<BatchMailbox::Taken> BatchMailbox::Next(std::chrono::milliseconds timeout, Clock& clock) {
  std::unique_lock lock(mutex_);
  SteadyTime now = clock.Now();
  const SteadyTime deadline = now + timeout;
  const bool only_next = !meter_.inside();
  if (only_next) meter_.EnterNext(now);
  meter_.BeginWait(now);
  Taken taken;
  Status status;
  for (;;) {
    if (!suspicions_.empty()) {
      taken.suspicion = std::move(suspicions_.front());
      suspicions_.pop_front();
      break;
    }
    if (!changes_.empty()) {
      taken.change = std::move(changes_.front());
      changes_.pop_front();
      break;
    }
    if (!needed_.empty()) {
      taken.sample = std::move(needed_.front());
      needed_.pop_front();
      break;
    }
    if (const std::uint64_t doubts = Doubts(); doubts != doubts_known_) {
      doubts_known_ = doubts;
      taken.doubt = true;
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
  now = clock.Now();
  if (taken.batch) {
    meter_.EndWait(now, taken.batch->timeline);
  } else if (status.code() != Code::kDeadlineExceeded) {
    meter_.PauseWait(now);
  }
  if (only_next) meter_.LeaveNext(now);
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

Status BatchMailbox::AwaitServed(std::chrono::milliseconds timeout, Clock& clock) {
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

void BatchMailbox::Interrupt() {
  {
    const std::scoped_lock lock(mutex_);
    interrupted_ = true;
  }
  changed_.notify_one();
}

void BatchMailbox::Close(Status why) {
  {
    const std::scoped_lock lock(mutex_);
    closed_ = std::move(why);
  }
  changed_.notify_one();
}

// Reads the clock under the lock, so that no reader's time is ahead of what the trainer's thread
// notes.
void BatchMailbox::EnterNext(const Clock& clock) {
  const std::scoped_lock lock(mutex_);
  meter_.EnterNext(clock.Now());
}
void BatchMailbox::LeaveNext(const Clock& clock) {
  const std::scoped_lock lock(mutex_);
  meter_.LeaveNext(clock.Now());
}
void BatchMailbox::EnterSampler(const Clock& clock) {
  const std::scoped_lock lock(mutex_);
  meter_.EnterSampler(clock.Now());
}
void BatchMailbox::LeaveSampler(const Clock& clock) {
  const std::scoped_lock lock(mutex_);
  meter_.LeaveSampler(clock.Now());
}
void BatchMailbox::AddIdle(Duration idle) {
  const std::scoped_lock lock(mutex_);
  meter_.AddIdle(idle);
}

void BatchMailbox::AddComparison(bool equal) {
  ChangeStats([&](SessionStats& stats) {
    ++stats.compared;
    if (!equal) ++stats.differed;
  });
}

SessionStats BatchMailbox::Stats(const Clock& clock) const {
  const std::scoped_lock lock(mutex_);
  return StatsWith(meter_.wait(clock.Now()));
}

SessionStats BatchMailbox::GrowingStats(const Clock& clock) {
  const std::scoped_lock lock(mutex_);
  return StatsWith(growing_.Follow(meter_.wait(clock.Now())));
}

SessionStats BatchMailbox::StatsWith(const WaitByCause& wait) const {
  SessionStats stats = stats_;
  SetWaits(wait, stats);
  stats.step_ns = Nanos(meter_.step());
  stats.idle_ns = std::min(Nanos(meter_.idle()), stats.stall_ns);
  stats.idle_known = meter_.idle_known();
  return stats;
}

}  // namespace headrace::client
