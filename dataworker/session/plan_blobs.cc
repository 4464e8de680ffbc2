#include "dataworker/session/plan_blobs.h"

#include <algorithm>
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
  for (const auto& [hash, coming] : building_) has += coming.bytes;
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

bool PlanBlobs::FindsRoom() {
  if (!lacking_) return true;
  const auto [hash, bytes] = *lacking_;
  const BlobContent others = OfAnotherJob(hash);
  if (!(others && others->size() == bytes) &&
      !bounds_.memory->Take(bytes, "a table or array of the job").ok()) {
    return false;
  }
  lacking_.reset();
  return true;
}

Status PlanBlobs::MakeOwn(BlobHash hash, Coming& coming) {
  auto lease = bounds_.memory->TakeForLong(coming.bytes, "a table or array of the job");
  if (!lease.ok()) {
    if (lease.status().code() == Code::kResourceExhausted) lacking_.emplace(hash, coming.bytes);
    return lease.status();
  }
  HR_TRY(BlobBuilder builder, BlobBuilder::Make(coming.bytes));
  if (coming.same) HR_RETURN_IF_ERROR(builder.Append(0, coming.same->first(coming.compared)));
  coming.same = nullptr;
  coming.builder = std::move(builder);
  coming.lease = std::move(lease).value();
  return {};
}

Result<BlobContent> PlanBlobs::OnPart(const wire::BlobPart& part, ByteSpan bytes, SteadyTime now) {
  heard_ = now;
  if (!missing_.contains(part.hash)) return BlobContent();  // came from elsewhere meanwhile
  if (lacking_) return BlobContent();
  auto coming = building_.find(part.hash);
  if (coming == building_.end()) {
    HR_RETURN_IF_ERROR(CheckRoom(part.total_bytes));
    coming = building_.try_emplace(part.hash).first;
    coming->second.bytes = part.total_bytes;
    BlobContent others = OfAnotherJob(part.hash);
    if (others && others->size() == part.total_bytes) coming->second.same = std::move(others);
  }
  Coming& blob = coming->second;
  if (blob.same) {
    const ByteSpan rest = blob.same->subspan(blob.compared);
    if (part.offset == blob.compared && bytes.size() <= rest.size() &&
        std::ranges::equal(bytes, rest.first(bytes.size()))) {
      blob.compared += bytes.size();
      if (blob.compared < blob.bytes) return BlobContent();
      BlobContent content = std::move(blob.same);
      building_.erase(coming);
      missing_.erase(part.hash);
      return content;
    }
  }
  if (!blob.builder) {
    if (Status room = MakeOwn(part.hash, blob); !room.ok()) {
      building_.erase(coming);
      return room;
    }
  }
  BlobBuilder& builder = *blob.builder;
  if (const Status status = builder.Append(part.offset, bytes); !status.ok()) {
    // A part of an earlier attempt. The rest of that attempt is useless, too. The peer attaches
    // again or sends from the start.
    LogWarning("blob part dropped error=\"" + status.ToString() + "\"");
    building_.erase(coming);
    return BlobContent();
  }
  if (!builder.complete()) return BlobContent();
  BlobContent content = WithLease(builder.Take(), std::move(blob.lease));
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
