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

void BlobTable::Add(JobId job, BlobHash hash, const BlobContent& content) {
  std::erase_if(blobs_, [](const auto& entry) { return entry.second.expired(); });
  blobs_[{hash, job}] = content;
}

}  // namespace headrace::dataworker
