#include "dataworker/session/plan_blobs.h"

#include <string>

#include "base/log.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kMaxBlobBytes = std::uint64_t{64} << 30;

}  // namespace

PlanBlobs::PlanBlobs(BlobTable& table, JobId job, std::vector<BlobHash> blobs)
    : table_(table), job_(job), blobs_(std::move(blobs)) {
  MissAgain();
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
  if (part.total_bytes > kMaxBlobBytes) {
    return InvalidArgument("a blob of " + std::to_string(part.total_bytes) + " bytes");
  }
  auto builder = building_.find(part.hash);
  if (builder == building_.end()) {
    HR_TRY(BlobBuilder made, BlobBuilder::Make(part.total_bytes));
    builder = building_.emplace(part.hash, std::move(made)).first;
  }
  if (const Status status = builder->second.Append(part.offset, bytes); !status.ok()) {
    // A part of an earlier attempt. The rest of that attempt is useless, too. The peer attaches
    // again or sends from the start.
    LogWarning("blob part dropped error=\"" + status.ToString() + "\"");
    building_.erase(builder);
    return BlobContent();
  }
  if (!builder->second.complete()) return BlobContent();
  BlobContent content = builder->second.Take();
  building_.erase(builder);
  missing_.erase(part.hash);
  return content;
}

Result<BlobContent> PlanBlobs::OnDescriptor(BlobHash hash, const UniqueFd& fd, std::uint64_t bytes,
                                            SteadyTime now) {
  if (!missing_.contains(hash)) return BlobContent();
  heard_ = now;
  HR_TRY(BlobContent content, BlobFromDescriptor(fd, bytes));
  missing_.erase(hash);
  return content;
}

void PlanBlobs::Keep(BlobHash hash, BlobContent content) {
  table_.Add(job_, hash, content);
  here_[hash] = std::move(content);
}

}  // namespace headrace::dataworker
