#pragma once

#include <cstdint>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/torch/torch_generator.h"

namespace headrace::client {

// One lane's generator: where planning stands, ahead of the trainer, and where the lane stood after
// the last batch that the trainer has, from which a loader can be resumed. Pure. Thread-compatible.
class LaneGenerator {
 public:
  // Where a lane can be resumed by counting draws.
  struct Place {
    std::uint64_t draws = 0;
    // False: the trainer changed the generator by more than draws.
    bool resumable = true;
  };

  // An iteration begins here; nothing of it is delivered.
  void Begin();
  void Begin(const ops::TorchGenerator& generator);

  [[nodiscard]] ops::TorchGenerator& now() { return now_; }
  [[nodiscard]] const ops::TorchGenerator& now() const { return now_; }
  [[nodiscard]] Place place() const { return {now_.position(), now_.resumable()}; }
  // A batch was drawn that nobody gets: the lane has gone past it.
  void Pass() { delivered_place_ = place(); }
  // The trainer has the batch, which was drawn from `start` to `after`.
  void Delivered(std::int64_t batch, const Place& after, std::optional<ops::TorchGenerator> start);
  [[nodiscard]] const Place& delivered() const { return delivered_place_; }

  // The trainer's own code has brought the generator to torch's state `after`. Where draws alone do
  // that, as for any transform that draws from torch, it stays countable and so resumable.
  // kInvalidArgument: not a state.
  Status MoveTo(ByteSpan after);
  // The same in `batch`, which is delivered, or delivered last: planning goes on from there.
  Status MoveBackTo(std::int64_t batch, ByteSpan after);

 private:
  ops::TorchGenerator now_;
  std::int64_t delivered_ = -1;  // the last delivered batch
  Place delivered_place_;
  std::optional<ops::TorchGenerator> delivered_start_;
};

}  // namespace headrace::client
