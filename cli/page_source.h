#pragma once

#include <memory>
#include <string>
#include <vector>

#include "coordinator/coordinator.h"
#include "net/reactor.h"
#include "web/status_page.h"
#include "web/status_server.h"

namespace headrace::cli {

struct PageSettings {
  std::string policy;            // its name
  std::string admin_token_file;  // see web::PageSource
};

// What the page of a coordinator is made from. `coordinator` outlives it.
[[nodiscard]] web::PageSource PageOf(coordinator::Coordinator& coordinator, PageSettings settings);

// The coordinator's page, metrics and health. Errors are StatusServer's. `coordinator` outlives it.
[[nodiscard]] Result<std::unique_ptr<web::StatusServer>> ServePage(
    net::Reactor& reactor, coordinator::Coordinator& coordinator, web::HttpOptions http,
    PageSettings settings);

// How many members are in which state in all pools, why they are not there, and what they have and cost.
[[nodiscard]] web::PoolState PoolStateOf(const coordinator::PoolReport& report,
                                         const std::vector<wire::PoolStatus>& pools);

}  // namespace headrace::cli
