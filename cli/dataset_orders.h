#pragma once

#include <chrono>
#include <string>

#include "base/result.h"
#include "schemas/wire/control.h"

// `headrace datasets warm|pin|unpin|drop`: one order to a coordinator.
namespace headrace::cli {

// How long a drop is waited for.
inline constexpr std::chrono::milliseconds kDropTimeout{10'000};

// Sends the order and waits for the answer, on the caller's thread. Its errors are the coordinator's.
// kUnavailable: no answer in time; also where the key may not give orders, or the coordinator is older.
[[nodiscard]] Result<wire::DatasetOrdered> SendOrder(const std::string& address,
                                                     wire::DatasetOrder order,
                                                     std::chrono::milliseconds timeout);
// Waits until all workers have dropped the data set. The number of those that have not, after `timeout`.
[[nodiscard]] Result<std::uint32_t> AwaitDrop(const std::string& address, std::uint64_t dataset,
                                              std::chrono::milliseconds timeout);

// What is printed. `left`: workers that have not dropped it.
[[nodiscard]] std::string OrderText(const wire::DatasetOrdered& done, std::uint32_t left);
[[nodiscard]] std::string OrderJson(const wire::DatasetOrdered& done, std::uint32_t left);

}  // namespace headrace::cli
