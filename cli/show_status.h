#pragma once

#include <string>

#include "base/ids.h"
#include "web/page_state.h"

// The JSON of the page's /api (docs/reference/status.md): the objects of `headrace ... --json`, in one line. Pure.
namespace headrace::cli {

[[nodiscard]] std::string StatusJson(const web::PageState& state);
// Empty: there is no such job, or worker.
[[nodiscard]] std::string JobObjectJson(const web::PageState& state, JobId id);
[[nodiscard]] std::string WorkerObjectJson(const web::PageState& state, WorkerId id);

}  // namespace headrace::cli
