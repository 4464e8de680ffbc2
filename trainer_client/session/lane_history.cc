#include "trainer_client/session/lane_history.h"

#include <algorithm>
#include <utility>

#include "base/graph.h"
#include "base/hash.h"
#include "schemas/wire/field_layout.h"

namespace headrace::client {
namespace {

std::uint64_t HashNumber(std::uint64_t number, std::uint64_t seed) {
  return MixBits(seed ^ MixBits(number));
}

std::uint64_t HashPart(ByteSpan part, std::uint64_t seed) {
  return HashNumber(part.size(), HashBytes(part, seed));
}

}  // namespace

void LaneHistory::Restart() {
  lanes_.clear();
  bytes_ = 0;
  complete_ = true;
}

void LaneHistory::Add(std::int64_t ticket, const PlannedBatch& planned, const Bytes& index) {
  if (!complete_) return;
  bytes_ += planned.keys.size() * sizeof(std::int64_t) + index.size() + sizeof(Entry);
  if (bytes_ > most_bytes_) {
    lanes_.clear();
    complete_ = false;
    return;
  }
  State& state = lanes_[planned.lane];
  if (!state.place.try_emplace(ticket, state.known.entries.size()).second) return;
  state.known.entries.push_back({.ticket = ticket, .planned = planned, .index = index});
}

void LaneHistory::AskedHere(std::int32_t lane, std::int64_t ticket) {
  const auto at = lanes_.find(lane);
  if (at == lanes_.end()) return;
  State& state = at->second;
  const auto place = state.place.find(ticket);
  if (place == state.place.end() || place->second > state.ran || place->second + 1 < state.ran) {
    state.bent = true;
  } else if (place->second == state.ran) {
    ++state.ran;
  }  // else its last batch once more, which it has kept
}

bool LaneHistory::Straight(std::int32_t lane) const {
  const auto at = lanes_.find(lane);
  return at != lanes_.end() && !at->second.bent;
}

bool LaneHistory::Right(std::int32_t lane) const {
  const auto at = lanes_.find(lane);
  if (at == lanes_.end()) return complete_;
  return !at->second.bent && std::ranges::all_of(at->second.known.entries, [](const Entry& entry) {
    return entry.right || !entry.made;
  });
}

std::vector<std::int32_t> LaneHistory::Wrong() const {
  std::vector<std::int32_t> wrong;
  for (const auto& [lane, state] : lanes_) {
    if (!Right(lane)) wrong.push_back(lane);
  }
  return wrong;
}

const LaneHistory::Lane& LaneHistory::Again(std::int32_t lane) {
  State& state = lanes_[lane];
  state.ran = 0;
  state.bent = false;
  return state.known;
}

LaneHistory::Entry* LaneHistory::Find(std::int32_t lane, std::int64_t ticket) {
  return const_cast<Entry*>(std::as_const(*this).entry(lane, ticket));
}

const LaneHistory::Entry* LaneHistory::entry(std::int32_t lane, std::int64_t ticket) const {
  const auto at = lanes_.find(lane);
  if (at == lanes_.end()) return nullptr;
  const auto place = at->second.place.find(ticket);
  return place == at->second.place.end() ? nullptr : &at->second.known.entries[place->second];
}

std::uint64_t HashOf(const wire::BatchDone& done, ByteSpan memory) {
  std::uint64_t hash = HashPart(done.pickle, 0);
  hash = HashPart(done.python_error, hash);
  hash = HashPart(done.lane_state, hash);
  hash = HashNumber(static_cast<std::uint64_t>(done.samples), hash);
  hash = HashNumber(done.lane_ended ? 1 : 0, hash);
  for (std::size_t i = 0; i < done.buffer_sizes.size(); ++i) {
    hash = HashPart(memory.subspan(done.buffer_offsets[i], done.buffer_sizes[i]), hash);
  }
  for (const wire::FieldLayout& field : done.fields) {
    hash = HashPart(memory.subspan(field.offset, wire::FieldBytes(field).value_or(0)), hash);
  }
  return hash;
}

}  // namespace headrace::client
