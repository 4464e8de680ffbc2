#include "dataworker/session/plan_blobs.h"

#include <string>

#include "base/log.h"

namespace headrace::dataworker {
namespace {

// The content, with what it takes of the worker's memory.
BlobContent WithLease(BlobContent content, WorkerMemory::Lease lease) {
  struct Held {
    BlobContent content;
    WorkerMemory::Lease lease;
  };
  const std::shared_ptr<Held> held(new Held{std::move(content), std::move(lease)});
  return {held, held->content.get()};
}

}  // namespace

PlanBlobs::PlanBlobs(BlobTable& table, JobId job, std::vector<BlobHash> blobs, Bounds bounds)
    : table_(table), job_(job), bounds_(std::move(bounds)), blobs_(std::move(blobs)) {
  MissAgain();
}

Status PlanBlobs::CheckRoom(std::uint64_t bytes) const {
  std::uint64_t has = table_.BytesOf(job_);
  for (const auto& [hash, coming] : building_) has += coming.builder.size();
  return bounds_.of_job.Check(bytes > UINT64_MAX - has ? UINT64_MAX : has + bytes);
}

bool PlanBlobs::Stalled(SteadyTime now) const {
  return !missing_.empty() && now - heard_ > kPatience;
}

void PlanBlobs::MissAgain() {
  for (const BlobHash hash : blobs_) {
    if (!here_.contains(hash)) missing_.insert(hash);
  }
}

void PlanBlobs::Restart(SteadyTime now) {
  heard_ = now;
  building_.clear();
  for (auto it = missing_.begin(); it != missing_.end();) {
    BlobContent content = table_.Find(job_, *it);
    if (content) {
      here_[*it] = std::move(content);
      it = missing_.erase(it);
    } else {
      ++it;
    }
  }
}

Result<BlobContent> PlanBlobs::OnPart(const wire::BlobPart& part, ByteSpan bytes, SteadyTime now) {
  heard_ = now;
  if (!missing_.contains(part.hash)) return BlobContent();  // came from elsewhere meanwhile
  auto coming = building_.find(part.hash);
  if (coming == building_.end()) {
    HR_RETURN_IF_ERROR(CheckRoom(part.total_bytes));
    HR_TRY(WorkerMemory::Lease lease,
           bounds_.memory->Take(part.total_bytes, "a table or array of the job"));
    HR_TRY(BlobBuilder made, BlobBuilder::Make(part.total_bytes));
    coming = building_.emplace(part.hash, Coming{std::move(made), std::move(lease)}).first;
  }
  BlobBuilder& builder = coming->second.builder;
  if (const Status status = builder.Append(part.offset, bytes); !status.ok()) {
    // A part of an earlier attempt. The rest of that attempt is useless, too. The peer attaches
    // again or sends from the start.
    LogWarning("blob part dropped error=\"" + status.ToString() + "\"");
    building_.erase(coming);
    return BlobContent();
  }
  if (!builder.complete()) return BlobContent();
  BlobContent content = WithLease(builder.Take(), std::move(coming->second.lease));
  building_.erase(coming);
  missing_.erase(part.hash);
  return content;
}

Result<BlobContent> PlanBlobs::OnDescriptor(BlobHash hash, const UniqueFd& fd, std::uint64_t bytes,
                                            SteadyTime now) {
  if (!missing_.contains(hash)) return BlobContent();
  heard_ = now;
  HR_RETURN_IF_ERROR(CheckRoom(bytes));
  HR_TRY(BlobContent content, BlobFromDescriptor(fd, bytes));
  missing_.erase(hash);
  return content;
}

void PlanBlobs::Keep(BlobHash hash, BlobContent content) {
  table_.Add(job_, hash, content);
  here_[hash] = std::move(content);
}

}  // namespace headrace::dataworker
