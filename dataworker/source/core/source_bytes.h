#pragma once

#include <cstdint>
#include <optional>

#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// The bytes that the calling thread has read from sources so far. A piece of work read the
// difference of two calls. SourceReads accounts for what other threads read.
[[nodiscard]] std::uint64_t SourceBytesOfThisThread();
void CountSourceBytes(std::uint64_t bytes);

// Source::Now, with the bytes counted for the calling thread.
[[nodiscard]] inline std::optional<RowAnswer> AskNow(const Source& source, Ask ask,
                                                     std::int64_t row, ScratchBuffer& buffer) {
  std::optional<RowAnswer> answer = source.Now(ask, row, buffer);
  if (answer && answer->bytes_read > 0) CountSourceBytes(answer->bytes_read);
  return answer;
}

}  // namespace headrace::dataworker
