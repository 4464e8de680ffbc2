#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/result.h"

namespace headrace::dataworker {

// Blocks until `ask` gives the address by which this host reaches its coordinator. kUnavailable is
// asked again after each `pause`, with one log line in all: a host may start before the name
// service knows its coordinator. Any other error is returned at once. nullopt: `stop` or `parent`
// (-1: none) became readable first.
[[nodiscard]] Result<std::optional<std::string>> AwaitAddress(
    const std::function<Result<std::string>()>& ask, Duration pause, int stop, int parent);

}  // namespace headrace::dataworker
