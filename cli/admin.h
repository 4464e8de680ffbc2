#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/result.h"
#include "schemas/wire/control.h"
#include "schemas/wire/message.h"

// Orders of a person to a coordinator.
namespace headrace::cli {

// Sends the order and waits, on the caller's thread, until `is_answer` takes a message. kUnavailable: none came in
// time; also where the key may not give orders, or the coordinator is older.
[[nodiscard]] Status AskAsAdmin(const std::string& address, const wire::Body& order,
                                std::chrono::milliseconds timeout,
                                const std::function<bool(wire::Body& answer)>& is_answer);

// Sends an order about jobs or workers. Its errors are the coordinator's and AskAsAdmin's.
[[nodiscard]] Result<wire::ClusterOrdered> SendOrder(const std::string& address,
                                                     wire::ClusterOrder order,
                                                     std::chrono::milliseconds timeout);

}  // namespace headrace::cli
