#include "dataworker/cache/chunk_room.h"

#include <algorithm>
#include <iterator>

#include "base/check.h"

namespace headrace::dataworker {
namespace {

std::uint32_t UnitsOf(std::size_t bytes) {
  return static_cast<std::uint32_t>((bytes + ChunkRoom::kUnit - 1) / ChunkRoom::kUnit);
}

}  // namespace

std::vector<ChunkRoom::Placed>::iterator ChunkRoom::At(std::uint32_t at) {
  return std::ranges::lower_bound(entries_, at, {}, &Placed::at);
}

void ChunkRoom::AddHole(std::uint32_t begin, std::uint32_t end) {
  if (begin == end) return;
  holes_.insert({end - begin, begin});
  hole_units_ += end - begin;
}

void ChunkRoom::RemoveHole(std::uint32_t begin, std::uint32_t end) {
  if (begin == end) return;
  HR_CHECK(holes_.erase({end - begin, begin}) == 1);
  hole_units_ -= end - begin;
}

std::size_t ChunkRoom::TakeHole(const EntryId& id, std::size_t need) {
  const auto found = holes_.lower_bound({UnitsOf(need), 0});
  HR_CHECK(found != holes_.end());
  const auto [units, at] = *found;
  RemoveHole(at, at + units);
  const std::uint32_t left = units - UnitsOf(need);
  const std::uint32_t taken = left < UnitsOf(kLeastHole) ? units : units - left;
  AddHole(at + taken, at + units);
  entries_.insert(At(at), {id, at, taken});
  return at * kUnit;
}

std::size_t ChunkRoom::TakeEnd(const EntryId& id, std::size_t need) {
  const std::size_t offset = filled_;
  entries_.push_back({id, UnitsOf(offset), UnitsOf(need)});
  filled_ += need;
  return offset;
}

// The holes beside it are the gaps to its neighbours.
void ChunkRoom::Leave(std::size_t offset) {
  const auto entry = At(UnitsOf(offset));
  HR_CHECK(entry != entries_.end() && entry->at == UnitsOf(offset));
  const std::uint32_t before = entry == entries_.begin() ? 0 : std::prev(entry)->after();
  const auto next = std::next(entry);
  const std::uint32_t after = next == entries_.end() ? UnitsOf(filled_) : next->at;
  RemoveHole(before, entry->at);
  RemoveHole(entry->after(), after);
  AddHole(before, after);
  entries_.erase(entry);
}

std::size_t ChunkRoom::CuttableEnd() const {
  const std::size_t keeps = std::max((filled_ + kPage - 1) / kPage, std::size_t{1}) * kPage;
  return keeps < size_ ? size_ - keeps : 0;
}

std::size_t ChunkRoom::CutEnd() {
  const std::size_t cut = CuttableEnd();
  size_ -= cut;
  return cut;
}

void ChunkRoom::Fill(std::size_t filled, const std::vector<EntryId>& ids) {
  filled_ = filled;
  for (const EntryId& id : ids) entries_.push_back({id, 0, 0});
}

std::vector<ChunkRoom::Entry> ChunkRoom::List() const {
  std::vector<Entry> list;
  list.reserve(entries_.size());
  for (const Placed& placed : entries_) list.push_back({placed.id, placed.units * kUnit});
  return list;
}

std::vector<EntryId> ChunkRoom::TakeIds() {
  std::vector<EntryId> ids;
  ids.reserve(entries_.size());
  for (const Placed& placed : entries_) ids.push_back(placed.id);
  entries_.clear();
  holes_.clear();
  hole_units_ = 0;
  return ids;
}

}  // namespace headrace::dataworker
