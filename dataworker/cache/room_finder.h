#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "dataworker/cache/chunk.h"
#include "dataworker/cache/spare_room.h"

namespace headrace::dataworker {

// What the chunks of a store are made of.
struct ChunkMedium {
  // Makes the body of a chunk of `bytes`; null: the medium has no room. Called with the store's lock.
  std::function<std::shared_ptr<ChunkBody>(std::size_t bytes)> make_body;
  std::size_t largest_chunk = 0;  // bytes
  std::size_t around_entry = 0;   // bytes that each entry takes beside its own
  // What lay in a chunk may be written over, and its end may be given back (ChunkBody::Cut). Not of a
  // log, which is read from its begin on after a crash.
  bool overwrites = false;
};

// Where a new entry of an account has room: in a hole, at the end of one of the account's newest chunks, or in
// a chunk that is made for it. It gives nothing up but loans (SpareRoom). Guarded by the store's lock.
class RoomFinder {
 public:
  static constexpr std::size_t kPage = ChunkRoom::kPage;
  // The overhead of one entry: index node, hash bucket, malloc headers and its line in the chunk.
  static constexpr std::size_t kEntryOverhead = 224;

  // `chunks`: of the store, oldest first; it outlives this.
  RoomFinder(std::vector<std::shared_ptr<Chunk>>& chunks, std::shared_ptr<MemoryBudget> budget,
             ChunkMedium medium);

  // What an entry of so many bytes takes of a chunk.
  [[nodiscard]] std::size_t NeedOf(std::size_t bytes) const;

  struct Found {
    Chunk* chunk = nullptr;  // nullptr: none has room
    bool in_hole = false;    // or at the end
  };
  // A chunk of the account with room. Holes are used of chunks that are `held` alone: the others go as a
  // whole.
  [[nodiscard]] Found FindIn(const QuotaAccount& account, std::size_t need,
                             const std::function<bool(const Chunk&)>& held) const;
  // Whether Make could make one: the budget and the quota have room.
  [[nodiscard]] bool CanMake(const QuotaAccount& account, std::size_t need) const;
  // Makes a chunk of the account with room for the entry. Null: the medium has none, or a loan is still read.
  // REQUIRES: CanMake.
  [[nodiscard]] std::shared_ptr<Chunk> Make(JobId owner,
                                            const std::shared_ptr<QuotaAccount>& account,
                                            std::size_t need);
  // Of chunks, in the order in which they are made.
  [[nodiscard]] std::uint64_t NextNumber() { return ++last_number_; }

  // Gives back what is free at the chunk's end.
  void CutEnd(Chunk& chunk) const;
  // Has the account know the chunk by its largest hole.
  static void List(Chunk& chunk);
  static void Unlist(Chunk& chunk);

  [[nodiscard]] SpareRoom& spare() { return spare_; }
  [[nodiscard]] const SpareRoom& spare() const { return spare_; }

 private:
  // Calls `visit` with each of the account's newest chunks.
  template <typename Visit>
  void EachOpen(const QuotaAccount& account, Visit visit) const;
  [[nodiscard]] static Chunk* HoleFor(const QuotaAccount& account, std::size_t need,
                                      const std::function<bool(const Chunk&)>& held);
  // Bytes of a new chunk for the entry, if `cut` bytes of others are given back before; 0: there is no room.
  [[nodiscard]] std::size_t NewChunkBytes(const QuotaAccount& account, std::size_t need,
                                          std::size_t cut) const;
  // What the ends of the account's newest chunks hold: whole pages.
  [[nodiscard]] std::size_t CuttableEnds(const QuotaAccount& account) const;

  std::vector<std::shared_ptr<Chunk>>& chunks_;
  const std::shared_ptr<MemoryBudget> budget_;
  const ChunkMedium medium_;
  const std::size_t chunk_bytes_;
  SpareRoom spare_;
  std::uint64_t last_number_ = 0;
};

}  // namespace headrace::dataworker
