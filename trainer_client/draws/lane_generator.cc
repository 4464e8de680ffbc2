#include "trainer_client/draws/lane_generator.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace headrace::client {
namespace {

using ops::Generators;
using ops::KeptTwister;
using ops::TorchGenerator;

// Whether draws alone lead from `before` to `foreign`, and through `candidate`, which they led to.
bool Reaches(const TorchGenerator& before, const TorchGenerator& foreign,
             TorchGenerator& candidate) {
  if (candidate.draws() == before.draws()) return before.TorchState() == foreign.TorchState();
  if (candidate.engine().words() != foreign.engine().words()) return false;
  return candidate.TorchState() == foreign.TorchState();
}
bool Reaches(const KeptTwister& before, const KeptTwister& foreign, KeptTwister& candidate) {
  return candidate.KeepAs(foreign, before);
}

// How many blocks of numbers a sample may draw. ElasticTransform draws two for each pixel of at most
// 2^20; the others draw from these generators by the dozen.
template <typename Generator>
constexpr int kMostBlocks = 64;
template <>
constexpr int kMostBlocks<TorchGenerator> = 4096;

// Returns `foreign`, by draws from `before` if that is possible.
template <typename Generator>
Generator DrawnTo(const Generator& before, const Generator& foreign) {
  constexpr std::uint64_t kBlock = ops::Mt19937::kWords;
  Generator candidate = before;
  if (Reaches(before, foreign, candidate)) return candidate;
  candidate.Discard((foreign.place() % kBlock + kBlock - before.place() % kBlock) % kBlock);
  for (int block = 0; block < kMostBlocks<Generator>; ++block) {
    if (Reaches(before, foreign, candidate)) return candidate;
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
  if (made.numpy) made.numpy = DrawnTo(*before.numpy, *made.numpy);
  return made;
}

}  // namespace

LaneGenerator::Place LaneGenerator::place() const {
  const auto& [torch, python, numpy] = now_;
  return {torch.position(), python ? python->position() : 0, numpy ? numpy->position() : 0,
          torch.resumable() && (!python || python->resumable()) && (!numpy || numpy->resumable())};
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
