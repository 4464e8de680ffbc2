#pragma once

#include <cstdint>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/torch/torch_generator.h"

namespace headrace::client {

// One lane's generator at two places. Planning stands at the first, ahead of the trainer. The
// second follows the last batch that the trainer has, so a loader can resume there. Pure.
// Thread-compatible.
class LaneGenerator {
 public:
  // Where a lane can be resumed by counting draws.
  struct Place {
    std::uint64_t draws = 0;
    // False: the trainer changed the generator by more than draws.
    bool resumable = true;
  };

  // Begins an iteration, of which nothing is delivered yet.
  void Begin();
  void Begin(const ops::TorchGenerator& generator);

  [[nodiscard]] ops::TorchGenerator& now() { return now_; }
  [[nodiscard]] const ops::TorchGenerator& now() const { return now_; }
  [[nodiscard]] Place place() const { return {now_.position(), now_.resumable()}; }
  // Moves the lane past a batch that was drawn and that nobody gets.
  void Pass() { delivered_place_ = place(); }
  // Notes that the trainer has the batch, which was drawn from `start` to `after`.
  void Delivered(std::int64_t batch, const Place& after, std::optional<ops::TorchGenerator> start);
  [[nodiscard]] const Place& delivered() const { return delivered_place_; }

  // Moves the generator to torch's state `after`, to which the trainer's own code has brought it.
  // If draws alone lead there, the place stays countable and so resumable. That holds for any
  // transform that draws from torch. kInvalidArgument: not a state.
  Status MoveTo(ByteSpan after);
  // Does the same in `batch`, which is delivered or was delivered last. Planning goes on from
  // there.
  Status MoveBackTo(std::int64_t batch, ByteSpan after);

 private:
  ops::TorchGenerator now_;
  std::int64_t delivered_ = -1;  // the last delivered batch
  Place delivered_place_;
  std::optional<ops::TorchGenerator> delivered_start_;
};

}  // namespace headrace::client
