#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "dataworker/cache/cache_entry.h"

namespace headrace::dataworker {

[[nodiscard]] constexpr std::size_t RoundUp(std::size_t value, std::size_t to) {
  return (value + to - 1) / to * to;
}

// Which entries lie where in a chunk, and what of its room is free: its end, and the holes that entries
// have left. Neighbouring holes are one. Bytes; places and sizes of entries are multiples of kUnit.
// Thread-compatible.
class ChunkRoom {
 public:
  static constexpr std::size_t kUnit = 64;
  static constexpr std::size_t kPage = 4096;
  // What is left over of a hole and is smaller stays with the entry that takes the hole.
  static constexpr std::size_t kLeastHole = 512;

  explicit ChunkRoom(std::size_t size) : size_(size) {}

  [[nodiscard]] std::size_t size() const { return size_; }
  // The room up to the end of the last entry that was ever placed here.
  [[nodiscard]] std::size_t filled() const { return filled_; }
  [[nodiscard]] std::size_t end() const { return size_ - filled_; }
  [[nodiscard]] std::size_t largest_hole() const {
    return holes_.empty() ? 0 : holes_.rbegin()->first * kUnit;
  }
  [[nodiscard]] std::size_t hole_bytes() const { return hole_units_ * kUnit; }
  // Entries that were placed and have not left.
  [[nodiscard]] std::size_t entries() const { return entries_.size(); }

  // Places an entry into the smallest hole that has room. REQUIRES: need <= largest_hole(). Returns its
  // place.
  std::size_t TakeHole(const EntryId& id, std::size_t need);
  // The same at the end. REQUIRES: need <= end().
  std::size_t TakeEnd(const EntryId& id, std::size_t need);
  // Notes that the entry at `offset` has gone: there is a hole. REQUIRES: there is one.
  void Leave(std::size_t offset);
  // Gives up the whole pages of the end. Returns how many bytes that are.
  std::size_t CutEnd();
  [[nodiscard]] std::size_t CuttableEnd() const;

  // Takes what was there before this object. Where each entry lies is not known, so none can leave.
  void Fill(std::size_t filled, const std::vector<EntryId>& ids);
  struct Entry {
    EntryId id;
    std::size_t bytes = 0;
  };
  [[nodiscard]] std::vector<Entry> List() const;
  // The entries; afterwards there are none here.
  std::vector<EntryId> TakeIds();

 private:
  struct Placed {
    EntryId id;
    std::uint32_t at = 0, units = 0;
    [[nodiscard]] std::uint32_t after() const { return at + units; }
  };
  using Hole = std::pair<std::uint32_t, std::uint32_t>;  // units, and where
  void AddHole(std::uint32_t begin, std::uint32_t end);
  void RemoveHole(std::uint32_t begin, std::uint32_t end);
  [[nodiscard]] std::vector<Placed>::iterator At(std::uint32_t at);

  std::size_t size_;
  std::size_t filled_ = 0;
  std::vector<Placed> entries_;  // by place
  std::set<Hole> holes_;
  std::size_t hole_units_ = 0;
};

}  // namespace headrace::dataworker
