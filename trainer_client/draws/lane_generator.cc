#include "trainer_client/draws/lane_generator.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace headrace::client {
namespace {

using ops::TorchGenerator;

// Returns a generator with the state `after`, by draws from `before` if that is possible.
Result<TorchGenerator> GeneratorAt(const TorchGenerator& before, ByteSpan after) {
  TorchGenerator foreign = before;
  HR_RETURN_IF_ERROR(foreign.SetTorchState(after));
  // Position in the block of 624 outputs, as torch's state stores it.
  constexpr std::uint64_t kBlock = 624;
  constexpr std::size_t kNextOffset = 16;
  constexpr int kMostBlocks = 64;
  const auto position = [](ByteSpan state) {
    std::uint64_t next = 0;
    std::memcpy(&next, state.data() + kNextOffset, sizeof(next));
    return next % kBlock;
  };
  const Bytes start = before.TorchState();
  if (std::ranges::equal(start, after)) return before;
  TorchGenerator candidate = before;
  candidate.Discard((position(after) + kBlock - position(start)) % kBlock);
  for (int block = 0; block < kMostBlocks; ++block) {
    if (candidate.draws() != before.draws() && std::ranges::equal(candidate.TorchState(), after)) {
      return candidate;
    }
    candidate.Discard(kBlock);
  }
  return foreign;
}

}  // namespace

void LaneGenerator::Begin() {
  delivered_ = -1;
  delivered_start_.reset();
  delivered_place_ = place();
}

void LaneGenerator::Begin(const TorchGenerator& generator) {
  now_ = generator;
  Begin();
}

void LaneGenerator::Delivered(std::int64_t batch, const Place& after,
                              std::optional<TorchGenerator> start) {
  if (batch <= delivered_) return;
  delivered_ = batch;
  delivered_place_ = after;
  delivered_start_ = std::move(start);
}

Status LaneGenerator::MoveTo(ByteSpan after) {
  HR_TRY(now_, GeneratorAt(now_, after));
  return Status::Ok();
}

Status LaneGenerator::MoveBackTo(std::int64_t batch, ByteSpan after) {
  const bool last = delivered_ == batch;
  HR_TRY(now_, GeneratorAt(last && delivered_start_ ? *delivered_start_ : now_, after));
  if (last) delivered_place_ = place();
  return Status::Ok();
}

}  // namespace headrace::client
