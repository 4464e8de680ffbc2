#include "dataworker/stage/stage_host.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <span>
#include <string>
#include <utility>

#include "base/process/stats.h"
#include "dataworker/stage/stage_request.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kMostInFrame = std::size_t{16} << 10;

}  // namespace

Status StageHost::Begin(std::unique_ptr<StageJob> job, SteadyTime now) {
  StageJob& given = *job;
  if (job_) {
    next_ = std::move(job);
  } else {
    job_ = std::move(job);
    job_->started = now;
    cpu_ns_then_ = ProcessCpuNanos(pid_);
  }
  HR_RETURN_IF_ERROR(GiveMemory(given));
  HR_RETURN_IF_ERROR(GiveRequest(given));
  begun_ = true;
  return {};
}

std::unique_ptr<StageJob> StageHost::TakeJob(SteadyTime now) {
  std::unique_ptr<StageJob> taken = std::exchange(job_, std::move(next_));
  if (job_) {
    job_->started = now;
    cpu_ns_then_ = ProcessCpuNanos(pid_);
  }
  return taken;
}

std::vector<std::unique_ptr<StageJob>> StageHost::TakeJobs() {
  std::vector<std::unique_ptr<StageJob>> jobs;
  while (std::unique_ptr<StageJob> job = TakeJob()) jobs.push_back(std::move(job));
  return jobs;
}

Status StageHost::GiveMemory(StageJob& job) {
  if (job.own_memory) {
    // Nobody else holds the memory: the answer before has been sent.
    const bool reusable = spare_ && spare_.use_count() == (arena_ == spare_ ? 2 : 1) &&
                          spare_->size() >= job.request.slot_bytes;
    if (!reusable) {
      UniqueFd file(::memfd_create("headrace-batch", MFD_CLOEXEC));
      if (!file.valid()) return ErrnoStatus(errno, "memfd");
      const std::uint64_t bytes = std::max<std::uint64_t>(job.request.slot_bytes, 4096);
      if (::ftruncate(file.get(), static_cast<off_t>(bytes)) != 0) {
        return ResourceExhausted("no memory for a batch of " + std::to_string(bytes) + " bytes");
      }
      HR_TRY(spare_, ArenaMap::Map(std::move(file), bytes));
    }
    job.arena = spare_;
  }
  if (arena_ == job.arena) return {};
  const std::array<int, 2> passed{job.arena->fd(), job.arena->channel()};
  HR_RETURN_IF_ERROR(
      socket_.Send(StageMessage::kArena, {}, std::span(passed).first(passed[1] >= 0 ? 2 : 1)));
  arena_ = job.arena;
  return {};
}

// A small request travels in its frame. A socket takes only so many bytes at once, so a larger one
// is a file.
Status StageHost::GiveRequest(StageJob& job) {
  const Bytes request =
      StageRequestBytes(job.request, job.own_memory ? 0 : job.request.slot_offset);
  const std::array<ByteSpan, 2> parts{std::as_bytes(std::span(&id_, 1)), request};
  if (request.size() <= kMostInFrame) return socket_.Send(StageMessage::kBatch, parts);
  job.request_bytes = request.size();
  HR_TRY(const UniqueFd file, MemoryFile("headrace-request", request));
  return socket_.Send(StageMessage::kBatch, std::span(parts).first(1), std::array{file.get()});
}

StageGate::Running StageHost::Running(SteadyTime now) const {
  const std::uint64_t cpu = ProcessCpuNanos(pid_);
  return {.wall = now - job_->started,
          .cpu = Duration(cpu > cpu_ns_then_ ? cpu - cpu_ns_then_ : 0)};
}

std::uint64_t StageHost::TakeReadBytes() {
  const std::uint64_t before = read_bytes_then_ + job_->request_bytes;
  // The value never falls, even if it could not be read now.
  read_bytes_then_ = std::max(read_bytes_then_, reads_.Bytes(pid_));
  return read_bytes_then_ > before ? read_bytes_then_ - before : 0;
}

}  // namespace headrace::dataworker
