#pragma once

#include <cstdint>
#include <string>

#include "coordinator/state/state.h"
#include "coordinator/state/update.h"

namespace headrace::coordinator {

// What the log says of an update, for people: jobs and workers that come and go, and jobs that begin or cease to
// wait. Empty: nothing, as of what happens each second, and of losses, which warnings tell. `before`: what the
// update will be applied to. `wall_ms`: the time of day. Pure.
[[nodiscard]] std::string StoryOf(const State& before, const Update& update, std::int64_t wall_ms);

}  // namespace headrace::coordinator
