#pragma once

#include <cstdint>
#include <memory>

#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// Bytes that the calling thread has read from metered sources, ever: what a piece of work read is
// the difference around it.
[[nodiscard]] std::uint64_t SourceBytesOfThisThread();

// `source`, with what its Read gives counted. Its Describe is counted by the reader of headers,
// which alone sees how much that takes: see MeteredHeaders. What lies in memory already, as what
// is not cacheable() does, comes back as it is: nothing is read for it.
[[nodiscard]] std::unique_ptr<Source> Metered(std::unique_ptr<Source> source);
[[nodiscard]] HeaderReader MeteredHeaders(HeaderReader reader);

}  // namespace headrace::dataworker
