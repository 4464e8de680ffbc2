#pragma once

#include <map>
#include <memory>

#include "base/buffer.h"
#include "base/ids.h"
#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// Blobs by content. The sessions that hold a blob share it. Reactor thread.
class BlobTable {
 public:
  // Finds a blob; nullptr when no session holds it.
  [[nodiscard]] BlobContent Find(BlobHash hash) const;
  // Adds a blob. REQUIRES: the content has this hash.
  void Add(BlobHash hash, const BlobContent& content);

 private:
  std::map<BlobHash, std::weak_ptr<const ByteSpan>> blobs_;
};

}  // namespace headrace::dataworker
