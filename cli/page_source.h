#pragma once

#include <string>

#include "coordinator/coordinator.h"
#include "web/status_page.h"

namespace headrace::cli {

// What the page of a coordinator is made from. `coordinator` outlives it. `policy`: its name.
[[nodiscard]] web::PageSource PageOf(coordinator::Coordinator& coordinator, std::string policy,
                                     std::string admin_token_file);

// For people: how many members are in which state, and why they are not there.
[[nodiscard]] web::PoolState PoolStateOf(const coordinator::PoolReport& report);

}  // namespace headrace::cli
