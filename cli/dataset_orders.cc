#include "cli/dataset_orders.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>
#include <variant>

#include "base/plain_text.h"
#include "cli/commands.h"
#include "cli/query.h"
#include "cli/text.h"
#include "net/keyring.h"
#include "net/reactor.h"

namespace headrace::cli {
namespace {

constexpr std::chrono::milliseconds kLookAgain{100};

}  // namespace

Result<wire::DatasetOrdered> SendOrder(const std::string& address, wire::DatasetOrder order,
                                       std::chrono::milliseconds timeout) {
  HR_TRY(std::unique_ptr<net::Reactor> reactor,
         net::MakeKeyedReactor("hr-order", KeysDirectory(address), {wire::Role::kAdmin}));
  order.request = 1;
  std::optional<Result<wire::DatasetOrdered>> answer;
  const auto end = [&](Result<wire::DatasetOrdered> result) {
    if (!answer) answer.emplace(std::move(result));
    reactor->Stop();
  };
  net::SocketEvents events;
  events.on_message = [&](net::Incoming&& message) {
    if (auto* ordered = std::get_if<wire::DatasetOrdered>(&message.body)) {
      if (ordered->request == order.request) end(std::move(*ordered));
    } else if (const auto* refused = std::get_if<wire::ClusterStatus>(&message.body)) {
      if (!refused->status.ok()) end(refused->status);  // of another protocol
    }
  };
  events.on_invalid = [&](const std::string&, const Status& error) {
    end(error.WithContext("coordinator at " + address));
  };
  HR_TRY(const std::unique_ptr<net::Socket> socket,
         reactor->ConnectDealer(address, std::move(events)));
  reactor->AddOnce(timeout, [&] {
    end(Unavailable("the coordinator at " + address +
                    " does not answer; it may not run, be of an older release, or give your key "
                    "no right to order (role admin)"));
  });
  HR_RETURN_IF_ERROR(socket->Send("", order));
  HR_RETURN_IF_ERROR(reactor->Run());
  if (!answer) return Internal("the order ended without an answer");
  if (answer->ok() && !(*answer)->status.ok()) {
    const std::string& name = (*answer)->name;
    return name.empty() ? (*answer)->status : (*answer)->status.WithContext("data set " + name);
  }
  return *std::move(answer);
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
