#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/result.h"
#include "remote/meter.h"
#include "remote/store.h"

namespace headrace::remote {

// What is asked of a store.
struct ObjectRequest {
  enum class What : std::uint8_t {
    kHead,   // size and version alone
    kStart,  // the first `bytes` bytes, or fewer if the object is shorter
    kRange,  // `bytes` bytes from `first` on, or fewer where the object ends before
    kWhole,  // all of it, in parts side by side if it is large
    kText,   // a listing: what the bucket answers to the URL's query
  };
  std::shared_ptr<const Store> store;
  ObjectUrl url;  // of the store
  What what = What::kWhole;
  std::uint64_t bytes = 0;  // kWhole, kText: a larger one is an error
  std::uint64_t first = 0;  // kRange
  // Who asks, for ObjectClient::Cancel.
  const void* owner = nullptr;
  // Pays for what is received. Empty: nobody does.
  std::shared_ptr<Meter> meter = nullptr;
};

// Errors: kNotFound (Detail::kNoFile): there is no such object. kUnsupported: it is too large, or
// the store sends whole objects whatever range is asked for. kInvalidArgument: the credentials are wrong in themselves. kUnavailable: anything else, and after
// Stop or Cancel. They name the object, and hold no query, key or token.
struct ObjectAnswer {
  Status status;
  std::uint64_t size = 0;  // of the whole object
  // The version's id, or the etag of an object without one. Two equal ones of one URL mean equal
  // bytes. Empty: the store gives none.
  std::string version;
  ByteSpan bytes;  // in `body`, with ScratchBuffer::kSlack readable bytes after them
  std::shared_ptr<ScratchBuffer> body;
  std::uint64_t received = 0;  // bytes of bodies that came for it, of vain tries too
};

// Takes an answer, exactly once, on the client's thread or, after Stop, on the caller's. It must not
// block, compute for long, or destroy the client.
using OnObject = std::function<void(ObjectAnswer)>;

}  // namespace headrace::remote
