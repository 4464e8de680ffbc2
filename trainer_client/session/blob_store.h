#pragma once

#include <cstddef>
#include <map>
#include <unordered_map>

#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "trainer_client/include/headrace/client.h"

namespace headrace::client {

// The blobs of one session's plan, and the sealed memfds through which workers on the same host
// share one copy of each. Reactor thread after construction.
class BlobStore {
 public:
  explicit BlobStore(std::map<BlobHash, Blob> blobs) : blobs_(std::move(blobs)) {}

  // Null when there is no such blob.
  [[nodiscard]] const Blob* Find(BlobHash hash) const {
    const auto at = blobs_.find(hash);
    return at == blobs_.end() ? nullptr : &at->second;
  }
  // Returns a memfd with the blob's content, made at the first call. The store owns it.
  // kResourceExhausted: no memory for it. REQUIRES: Find(hash) is not empty.
  Result<int> Descriptor(BlobHash hash);

 private:
  std::map<BlobHash, Blob> blobs_;
  std::unordered_map<BlobHash, UniqueFd> descriptors_;
};

}  // namespace headrace::client
