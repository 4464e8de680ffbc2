#pragma once

#include <cstdint>
#include <memory>

#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// Returns the bytes that the calling thread has read from metered sources so far. A piece of work
// read the difference of two calls.
[[nodiscard]] std::uint64_t SourceBytesOfThisThread();

// Returns `source` with the bytes of its Read counted. The reader of headers counts its Describe,
// because only that reader sees how much it takes: see MeteredHeaders. A source that is in memory
// already (not cacheable()) comes back as it is, because nothing is read for it.
[[nodiscard]] std::unique_ptr<Source> Metered(std::unique_ptr<Source> source);
[[nodiscard]] HeaderReader MeteredHeaders(HeaderReader reader);

}  // namespace headrace::dataworker
