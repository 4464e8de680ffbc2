#pragma once

#include <cstdint>
#include <optional>

#include "base/buffer.h"
#include "base/result.h"
#include "ops/core/generators.h"

namespace headrace::client {

// One lane's generators at two places. Planning stands at the first, ahead of the trainer. The
// second follows the last batch that the trainer has, so a loader can resume there. Pure.
// Thread-compatible.
class LaneGenerator {
 public:
  // Where a lane can be resumed by counting draws.
  struct Place {
    std::uint64_t draws = 0;
    std::uint64_t python_draws = 0;  // of Python's generator
    std::uint64_t numpy_draws = 0;   // of NumPy's
    // False: the trainer changed a generator by more than draws.
    bool resumable = true;
  };

  // Begins an iteration, of which nothing is delivered yet.
  void Begin();
  void Begin(const ops::Generators& generator);

  [[nodiscard]] ops::Generators& now() { return now_; }
  [[nodiscard]] const ops::Generators& now() const { return now_; }
  [[nodiscard]] Place place() const;
  // Moves the lane past a batch that was drawn and that nobody gets.
  void Pass() { delivered_place_ = place(); }
  // Notes that the trainer has the batch, which was drawn from `start` to `after`.
  void Delivered(std::int64_t batch, const Place& after, std::optional<ops::Generators> start);
  [[nodiscard]] const Place& delivered() const { return delivered_place_; }

  // Moves the generators to the state `after`, to which the trainer's own code has brought them.
  // If draws alone lead there, the place stays countable and so resumable. That holds for any
  // transform that draws from torch. kInvalidArgument: not a state.
  Status MoveTo(ByteSpan after);
  // Does the same in `batch`, which is delivered or was delivered last. Planning goes on from
  // there.
  Status MoveBackTo(std::int64_t batch, ByteSpan after);

 private:
  ops::Generators now_;
  std::int64_t delivered_ = -1;  // the last delivered batch
  Place delivered_place_;
  std::optional<ops::Generators> delivered_start_;
};

}  // namespace headrace::client
