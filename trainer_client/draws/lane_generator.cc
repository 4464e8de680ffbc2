#include "trainer_client/draws/lane_generator.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace headrace::client {
namespace {

using ops::Generators;
using ops::PythonGenerator;
using ops::TorchGenerator;

Bytes StateOf(const TorchGenerator& generator) { return generator.TorchState(); }
Bytes StateOf(const PythonGenerator& generator) { return generator.State(); }

// Returns `foreign`, by draws from `before` if that is possible.
template <typename Generator>
Generator DrawnTo(const Generator& before, const Generator& foreign) {
  constexpr std::uint64_t kBlock = ops::Mt19937::kWords;
  constexpr int kMostBlocks = 64;
  const Bytes after = StateOf(foreign);
  if (StateOf(before) == after) return before;
  Generator candidate = before;
  candidate.Discard((foreign.place() % kBlock + kBlock - before.place() % kBlock) % kBlock);
  for (int block = 0; block < kMostBlocks; ++block) {
    if (candidate.draws() != before.draws() && StateOf(candidate) == after) return candidate;
    candidate.Discard(kBlock);
  }
  return foreign;
}

// Returns generators with the state `after`.
Result<Generators> GeneratorsAt(const Generators& before, ByteSpan after) {
  Generators made = before;
  HR_RETURN_IF_ERROR(made.SetState(after));
  made.torch = DrawnTo(before.torch, made.torch);
  if (made.python) made.python = DrawnTo(*before.python, *made.python);
  return made;
}

}  // namespace

LaneGenerator::Place LaneGenerator::place() const {
  const std::optional<PythonGenerator>& python = now_.python;
  return {now_.torch.position(), python ? python->draws() : 0,
          now_.torch.resumable() && (!python || python->resumable())};
}

void LaneGenerator::Begin() {
  delivered_ = -1;
  delivered_start_.reset();
  delivered_place_ = place();
}

void LaneGenerator::Begin(const Generators& generators) {
  now_ = generators;
  Begin();
}

void LaneGenerator::Delivered(std::int64_t batch, const Place& after,
                              std::optional<Generators> start) {
  if (batch <= delivered_) return;
  delivered_ = batch;
  delivered_place_ = after;
  delivered_start_ = std::move(start);
}

Status LaneGenerator::MoveTo(ByteSpan after) {
  HR_TRY(now_, GeneratorsAt(now_, after));
  return Status::Ok();
}

Status LaneGenerator::MoveBackTo(std::int64_t batch, ByteSpan after) {
  const bool last = delivered_ == batch;
  HR_TRY(now_, GeneratorsAt(last && delivered_start_ ? *delivered_start_ : now_, after));
  if (last) delivered_place_ = place();
  return Status::Ok();
}

}  // namespace headrace::client
