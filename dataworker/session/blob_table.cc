#include "dataworker/session/blob_table.h"

namespace headrace::dataworker {

BlobContent BlobTable::Find(JobId job, BlobHash hash) const {
  const auto found = blobs_.find({hash, job});
  return found == blobs_.end() ? nullptr : found->second.lock();
}

BlobContent BlobTable::OfAnother(JobId job, BlobHash hash) const {
  for (auto it = blobs_.lower_bound({hash, JobId()}); it != blobs_.end(); ++it) {
    if (it->first.first != hash) break;
    if (it->first.second == job) continue;
    if (BlobContent content = it->second.lock()) return content;
  }
  return nullptr;
}

std::uint64_t BlobTable::BytesOf(JobId job) const {
  std::uint64_t bytes = 0;
  for (const auto& [of, blob] : blobs_) {
    if (of.second != job) continue;
    if (const BlobContent content = blob.lock()) bytes += content->size();
  }
  return bytes;
}

void BlobTable::Add(JobId job, BlobHash hash, const BlobContent& content) {
  std::erase_if(blobs_, [](const auto& entry) { return entry.second.expired(); });
  blobs_[{hash, job}] = content;
}

}  // namespace headrace::dataworker
