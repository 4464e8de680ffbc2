#pragma once

#include <cstdint>
#include <vector>

#include "base/graph.h"
#include "base/result.h"
#include "net/reactor.h"
#include "ops/core/op.h"
#include "schemas/wire/data.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/stall/wait_attribution.h"

// From a worker's answer to the batch that the trainer gets.
namespace headrace::client {

// Bytes that a batch of `samples` takes in a slot; `output` is what the chain makes of one sample.
[[nodiscard]] std::uint64_t BatchBytes(const Plan& plan, std::size_t samples,
                                       const ops::ImageSpec& output);

// A successful answer says what fits the plan, the request and the slot: kDataLoss otherwise.
Status CheckAnswer(const Plan& plan, std::size_t samples, std::uint64_t slot_bytes,
                   const wire::BatchDone& done);

// Copies payload frames to the slot's start. kDataLoss: not `used_bytes` of them.
Status CopyPayload(const std::vector<ByteSpan>& payload, std::uint64_t used_bytes,
                   MutableByteSpan slot);

// How long what took in the worker. What a peer says of times is bounded.
[[nodiscard]] BatchTimeline::Worker WorkerTimes(const wire::BatchCost& cost);

// Adds what a delivered batch cost; `tried`: samples of it that the worker worked on.
void AddCost(const wire::BatchCost& cost, std::int64_t tried, SessionStats& stats);

// The batch without its missing samples, number and hold. REQUIRES: CheckAnswer was ok.
[[nodiscard]] Batch MakeBatch(wire::BatchDone&& done, MutableByteSpan slot);

}  // namespace headrace::client
