#pragma once

#include <map>
#include <memory>
#include <utility>

#include "base/buffer.h"
#include "base/hash.h"
#include "headrace/client.h"

namespace headrace::client {

// Takes the bytes into the blobs of a plan, and returns their name.
inline BlobHash AddBlob(Bytes bytes, std::map<BlobHash, Blob>& blobs) {
  const auto owner = std::make_shared<const Bytes>(std::move(bytes));
  const BlobHash hash = HashBlob(*owner);
  blobs.emplace(hash, Blob{*owner, owner});
  return hash;
}

}  // namespace headrace::client
