#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "dataworker/source/core/source.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/event_queue.h"
#include "tests/simulation/sim_process.h"

namespace headrace::simulation {

// Where the rows of a simulated store come from.
struct SimRow {
  Bytes pixels;
  TensorSpec spec;
  std::int64_t label = 0;
};
using SimRows = std::function<SimRow(std::int64_t row)>;

// A source that waits, as an object store does: each row is answered after a time of its own, in any
// order. `fails`: the probability that a row is not to be had at the moment. One thread.
[[nodiscard]] std::unique_ptr<dataworker::Source> MakeSimSource(EventQueue& events, Dice dice,
                                                                std::shared_ptr<SimProcess> process,
                                                                std::int64_t rows, SimRows content,
                                                                double fails);

}  // namespace headrace::simulation
