#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

// Checks on peers' messages beyond their form, so that no message takes unbounded room in the
// coordinator's state. kInvalidArgument names the field.
namespace headrace::coordinator {

[[nodiscard]] Status CheckText(std::string_view what, const std::string& text);
[[nodiscard]] Status CheckMessage(const wire::OpenJob& m);
[[nodiscard]] Status CheckMessage(const wire::RegisterWorker& m);
// kInfeasible: there is another local worker, and the host's cores would count twice.
[[nodiscard]] Status CheckNeeded(const State& state, const wire::WorkerInfo& local);

}  // namespace headrace::coordinator
