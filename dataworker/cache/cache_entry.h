#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hash.h"
#include "dataworker/source/core/content_identity.h"

namespace headrace::dataworker {

// What is kept of a content: zeros are the encoded bytes, anything else the payload of
// ops::GraphRunner::RunPrefix for the graph with that prefix and those constants. Jobs that do not trust
// each other share entries, so nobody can make another graph with the same form.
using EntryForm = std::array<std::uint64_t, 2>;

struct CacheKey {
  ContentIdentity content;
  EntryForm form{};
};

// Words that the maker of an entry wants to have again with it, wherever it goes; a tier does not look into
// them. Zeros: there are none. An entry with a mark is *marked*.
using EntryMark = std::array<std::uint64_t, 4>;

// The identity of an entry in the index of a tier: a place (its content may change) and a form.
struct EntryId {
  std::array<std::uint64_t, 2> place{};
  EntryForm form{};
  friend bool operator==(const EntryId&, const EntryId&) = default;

  [[nodiscard]] static EntryId Of(const CacheKey& key) {
    return {.place = key.content.place, .form = key.form};
  }
};

struct HashEntryId {
  std::size_t operator()(const EntryId& id) const noexcept {
    return MixBits(id.place[1] ^ MixBits(id.place[0] ^ MixBits(id.form[0] ^ MixBits(id.form[1]))));
  }
};

// Read access to an entry; empty on a miss. The bytes stay valid while the pin lives, whatever the
// cache does, and ScratchBuffer::kSlack bytes after them are readable. Movable; thread-compatible.
class CachePin {
 public:
  CachePin() = default;
  // `cost`: what such an entry took to make; 0: not known.
  CachePin(ByteSpan bytes, std::shared_ptr<const void> hold, Duration cost = {})
      : bytes_(bytes), hold_(std::move(hold)), cost_(cost) {}
  explicit operator bool() const { return hold_ != nullptr; }
  [[nodiscard]] ByteSpan bytes() const { return bytes_; }
  [[nodiscard]] Duration cost() const { return cost_; }

 private:
  ByteSpan bytes_;
  std::shared_ptr<const void> hold_;
  Duration cost_{};
};

}  // namespace headrace::dataworker
