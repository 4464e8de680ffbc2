#include "cli/dataset_orders.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <thread>
#include <utility>
#include <variant>

#include "base/plain_text.h"
#include "cli/admin.h"
#include "cli/query.h"
#include "cli/text.h"

namespace headrace::cli {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};

}  // namespace

Result<wire::DatasetOrdered> SendOrder(const std::string& address, wire::DatasetOrder order,
                                       std::chrono::milliseconds timeout) {
  order.request = 1;
  wire::DatasetOrdered answer;
  HR_RETURN_IF_ERROR(AskAsAdmin(address, order, timeout, [&](wire::Body& body) {
    auto* ordered = std::get_if<wire::DatasetOrdered>(&body);
    if (ordered == nullptr || ordered->request != order.request) return false;
    answer = std::move(*ordered);
    return true;
  }));
  if (answer.status.ok()) return answer;
  return answer.name.empty() ? answer.status : answer.status.WithContext("data set " + answer.name);
}

Result<std::uint32_t> AwaitDrop(const std::string& address, std::uint64_t dataset,
                                std::chrono::milliseconds timeout) {
  for (auto waited = std::chrono::milliseconds(0);; waited += kLookAgain) {
    HR_TRY(const wire::ClusterStatus status, QueryStatus(address));
    const auto at = std::ranges::find(status.datasets, dataset, &wire::DatasetStatus::dataset);
    const std::uint32_t left = at == status.datasets.end() ? 0 : at->dropping;
    if (left == 0 || waited >= timeout) return left;
    std::this_thread::sleep_for(kLookAgain);
  }
}

std::string OrderText(const wire::DatasetOrdered& done, std::uint32_t left) {
  std::string text = Plain(done.name) + " " + Plain(done.text) + "\n";
  if (left > 0) {
    text += std::to_string(left) +
            " workers have not done it yet; they do when they answer again (`headrace datasets`)\n";
  }
  return text;
}

std::string OrderJson(const wire::DatasetOrdered& done, std::uint32_t left) {
  const nlohmann::ordered_json json = {{"dataset", HexText(done.dataset)},
                                       {"name", done.name},
                                       {"text", done.text},
                                       {"workers", done.workers},
                                       {"workers_left", left}};
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::cli
