#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "net/reactor.h"
#include "ops/core/graph.h"
#include "schemas/wire/data.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/stall/wait_attribution.h"

// Turns a worker's answer into the batch that the trainer gets.
namespace headrace::client {

// Returns the bytes that a batch of `samples` like this one takes in a slot. `values`: of one sample,
// in the order of ValuesOf(plan); empty: unknown.
[[nodiscard]] std::uint64_t BatchBytes(const Plan& plan, std::size_t samples,
                                       std::span<const TensorSpec> values);

// Returns the number of dimensions of a sample, by field; 0 for columns of the source.
[[nodiscard]] std::vector<std::size_t> RanksOf(const Plan& plan, const ops::Graph& graph);

// Checks that a successful answer fits the plan, the request and the slot; kDataLoss if it does
// not. `ranks`: as RanksOf; empty: they are not known. `asked`: how many of the batch's samples the
// worker was asked for.
Status CheckAnswer(const Plan& plan, std::span<const std::size_t> ranks, std::size_t samples,
                   std::size_t asked, std::uint64_t slot_bytes, const wire::BatchDone& done);

// kDataLoss: the frames are not `used_bytes` together.
Status CheckPayload(const std::vector<ByteSpan>& payload, std::uint64_t used_bytes);
// Copies payload frames to the slot's start. kDataLoss: not `used_bytes` of them.
Status CopyPayload(const std::vector<ByteSpan>& payload, std::uint64_t used_bytes,
                   MutableByteSpan slot);

// Returns the durations in the worker, and bounds the times that the peer claims.
[[nodiscard]] BatchTimeline::Worker WorkerTimes(const wire::BatchCost& cost);

// Adds the cost of a delivered batch. `tried`: its samples that the worker worked on.
void AddCost(wire::BatchCost cost, std::int64_t tried, SessionStats& stats);
// Adds its hits by tier. Of more than wire::kMostTiers names the later ones are not told apart.
void AddTiers(const std::vector<wire::TierHits>& tiers, SessionStats& stats);

// Makes the batch without its missing samples, number and hold. REQUIRES: CheckAnswer was ok.
[[nodiscard]] Batch MakeBatch(wire::BatchDone&& done, MutableByteSpan slot);

}  // namespace headrace::client
