#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "base/hash.h"
#include "dataworker/cache/cache_entry.h"

// Samples of the names of a cache's entries. All workers draw by the names themselves: a sample has each
// entry whose name is below a bound. So those of several workers can be compared, up to the least bound, and
// tell how many entries are in more than one cache (docs/adr/0074-duplicates-and-replicas.md).
namespace headrace::dataworker {

// The bound of a sample that has every entry.
inline constexpr std::uint64_t kAllNames = std::numeric_limits<std::uint64_t>::max();

// A uniform number that stands for the entry, the same in all caches.
[[nodiscard]] inline std::uint64_t SampledName(const ContentIdentity& content,
                                               const EntryForm& form) {
  // Its own key: an index or a ring that is cut by the plain hash must not choose the sample.
  constexpr std::uint64_t kKey = 0x73616d706c65;
  return MixBits(kKey ^ MixBits(content.HashOverHosts() ^ MixBits(form[0] ^ MixBits(form[1]))));
}

struct EntrySample {
  std::uint64_t below = 0;           // no name is as large; 0: there is no sample
  std::vector<std::uint64_t> names;  // ascending
  // Adds that of other entries, which need not be settled. The bound becomes the least one.
  void Add(const EntrySample& others);
  // Drops names that are not below the bound, and sorts the rest.
  void Settle();
  // Lowers the bound until there are no more than that.
  void KeepTo(std::size_t most);
};

class AccountNames;

// What a sample has of one chunk's entries. Guarded by the store's lock.
class ChunkNames {
 public:
  // Has the account's sample count them, in place of the one before. nullptr: none does, and there are none
  // from now on.
  void Join(AccountNames* account);
  // An entry that has come, and one that has gone. REQUIRES: it is in, or there is no account.
  void Add(std::uint64_t name);
  void Remove(std::uint64_t name);
  // The sample is to be settled after that.
  void AddTo(EntrySample& sample) const;

 private:
  friend class AccountNames;
  void LowerTo(std::uint64_t below);
  AccountNames* account_ = nullptr;
  std::uint64_t below_ = 0;
  std::vector<std::uint64_t> names_;  // in no order
};

// The sample of all chunks of an account. Its bound falls as entries come, so that it has kMost names at the
// most. What was above the bound is not known any more. So the bound rises again with new chunks only, while
// there are few names. Guarded by the store's lock.
class AccountNames {
 public:
  static constexpr std::size_t kMost = 128;
  static constexpr std::size_t kFew = kMost / 4;

 private:
  friend class ChunkNames;
  void Trim();
  std::set<ChunkNames*> chunks_;
  std::size_t names_ = 0;
  std::uint64_t below_ = kAllNames;  // of the next chunk
};

}  // namespace headrace::dataworker
