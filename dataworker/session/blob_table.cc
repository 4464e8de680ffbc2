#include "dataworker/session/blob_table.h"

namespace headrace::dataworker {

BlobContent BlobTable::Find(BlobHash hash) const {
  const auto found = blobs_.find(hash);
  return found == blobs_.end() ? nullptr : found->second.lock();
}

void BlobTable::Add(BlobHash hash, const BlobContent& content) {
  std::erase_if(blobs_, [](const auto& entry) { return entry.second.expired(); });
  blobs_[hash] = content;
}

}  // namespace headrace::dataworker
