#pragma once

#include <memory>

#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// Returns `source` with a memory for identities: one that the source says is valid for a time is
// believed until then, without asking again. Takes 4 MiB at most; a row whose place another row
// has taken is asked for again. For sources that wait; `clock` outlives it and its open rows.
[[nodiscard]] std::unique_ptr<Source> Remembered(std::unique_ptr<Source> source, Clock& clock);

}  // namespace headrace::dataworker
