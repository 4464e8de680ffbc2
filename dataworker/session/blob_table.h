#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/buffer.h"
#include "base/ids.h"
#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// Blobs of the jobs, by hash. The sessions of one job share a blob. Two jobs do not take each other's
// word for it: the hash is no cryptographic one, so one could make code or a file table with the hash
// of the other's. Each job sends its own, and they share memory where all bytes are the same. Reactor
// thread.
class BlobTable {
 public:
  // Finds a blob of the job; nullptr when no session of it holds one.
  [[nodiscard]] BlobContent Find(JobId job, BlobHash hash) const;
  // What another job holds by this hash, to compare with; nullptr: nothing.
  [[nodiscard]] BlobContent OfAnother(JobId job, BlobHash hash) const;
  // Bytes of all blobs of the job.
  [[nodiscard]] std::uint64_t BytesOf(JobId job) const;
  // Adds a blob. REQUIRES: the content has this hash.
  void Add(JobId job, BlobHash hash, const BlobContent& content);

 private:
  std::map<std::pair<BlobHash, JobId>, std::weak_ptr<const ByteSpan>> blobs_;
};

}  // namespace headrace::dataworker
