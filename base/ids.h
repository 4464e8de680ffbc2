#pragma once

#include <compare>
#include <cstdint>
#include <functional>
#include <string>

namespace headrace {

// An integer id that never converts to another id. Source: redpanda utils/named_type.h (idea).
template <typename Tag>
struct StrongId {
  std::int64_t value = -1;

  constexpr StrongId() = default;
  constexpr explicit StrongId(std::int64_t v) : value(v) {}
  [[nodiscard]] constexpr bool valid() const { return value >= 0; }
  friend constexpr auto operator<=>(StrongId, StrongId) = default;
};

using JobId = StrongId<struct JobIdTag>;            // given by the coordinator
using WorkerId = StrongId<struct WorkerIdTag>;      // given by the coordinator
using ConsumerId = StrongId<struct ConsumerIdTag>;  // one trainer rank; given by the coordinator
using SessionId = StrongId<struct SessionIdTag>;  // one loader; random 63 bits, made by the client
using IterationId = StrongId<struct IterationIdTag>;  // one iter() of a loader; given by the client
using BatchId = StrongId<struct BatchIdTag>;          // position in the iteration, from 0; client
using SampleKey = StrongId<struct SampleKeyTag>;      // dataset index as the sampler yields it
using LaneId = StrongId<struct LaneIdTag>;            // virtual DataLoader worker, 0..num_workers-1
using SlotId = StrongId<struct SlotIdTag>;            // place in the trainer's arena
using BlobHash = StrongId<struct BlobHashTag>;        // xxh3-64 of content, top bit cleared

}  // namespace headrace

template <typename Tag>
struct std::hash<headrace::StrongId<Tag>> {
  std::size_t operator()(headrace::StrongId<Tag> id) const noexcept {
    return std::hash<std::int64_t>{}(id.value);
  }
};
