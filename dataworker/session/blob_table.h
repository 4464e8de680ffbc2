#pragma once

#include <map>
#include <memory>

#include "base/buffer.h"
#include "base/ids.h"
#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// Blobs by content, shared by the sessions that hold them. Reactor thread.
class BlobTable {
 public:
  // nullptr when no session holds it.
  [[nodiscard]] BlobContent Find(BlobHash hash) const;
  // REQUIRES: the content has this hash.
  void Add(BlobHash hash, const BlobContent& content);

 private:
  std::map<BlobHash, std::weak_ptr<const ByteSpan>> blobs_;
};

}  // namespace headrace::dataworker
