#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "coordinator/state/state.h"
#include "schemas/wire/control.h"

// What the coordinator wants of its peers' messages beyond their form: nothing that they say takes
// unbounded room in its state. kInvalidArgument names the field.
namespace headrace::coordinator {

[[nodiscard]] Status CheckText(std::string_view what, const std::string& text);
[[nodiscard]] Status CheckMessage(const wire::OpenJob& m);
[[nodiscard]] Status CheckMessage(const wire::RegisterWorker& m);
// A local worker beside another one would count the host's cores twice: kInfeasible.
[[nodiscard]] Status CheckNeeded(const State& state, const wire::WorkerInfo& local);

}  // namespace headrace::coordinator
