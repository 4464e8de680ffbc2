#pragma once

#include <vector>

#include "base/buffer.h"
#include "base/graph.h"
#include "base/result.h"
#include "ops/core/finisher.h"
#include "schemas/wire/data.h"

namespace headrace::client {

// Makes a batch of a payload whose chain fields are the values before the chain's tail: finishes
// them to `slot` and copies the other fields. `done` then tells of the batch in the slot. Nothing
// outside of payload and slot is touched, whatever a worker says. kDataLoss: payload, fields and
// plan do not fit, or the slot is too small. REQUIRES: CheckAnswer(done) is ok.
Status FinishPayload(const Plan& plan, const ops::Finisher& finisher,
                     const std::vector<ByteSpan>& payload, MutableByteSpan slot,
                     wire::BatchDone& done);

}  // namespace headrace::client
