#pragma once

#include <string>

#include "coordinator/coordinator.h"
#include "coordinator/pool/core/pool.h"
#include "coordinator/pool_keeper.h"
#include "coordinator/pool_wish.h"

// What a coordinator's pools and their keeper are made with. Pure.
namespace headrace::coordinator {

[[nodiscard]] PoolKeeper::Options KeeperOptions(const CoordinatorOptions& options);

// Without the epoch. listens: the coordinator's endpoint.
[[nodiscard]] PoolOptions PoolOptionsOf(const CoordinatorOptions& options, const PoolWish& wish,
                                        const PoolRegistry& registry, const std::string& listens);

}  // namespace headrace::coordinator
