#include "cli/admin.h"

#include <memory>
#include <optional>
#include <utility>
#include <variant>

#include "cli/commands.h"
#include "net/keyring.h"
#include "net/reactor.h"

namespace headrace::cli {

Status AskAsAdmin(const std::string& address, const wire::Body& order,
                  std::chrono::milliseconds timeout,
                  const std::function<bool(wire::Body& answer)>& is_answer) {
  HR_TRY(std::unique_ptr<net::Reactor> reactor,
         net::MakeKeyedReactor("hr-order", KeysDirectory(address), {wire::Role::kAdmin}));
  std::optional<Status> end;
  const auto finish = [&](Status status) {
    if (!end) end.emplace(std::move(status));
    reactor->Stop();
  };
  net::SocketEvents events;
  events.on_message = [&](net::Incoming&& message) {
    if (const auto* refused = std::get_if<wire::ClusterStatus>(&message.body)) {
      if (!refused->status.ok()) finish(refused->status);  // of another protocol
    } else if (is_answer(message.body)) {
      finish(Status::Ok());
    }
  };
  events.on_invalid = [&](const std::string&, const Status& error) {
    finish(error.WithContext("coordinator at " + address));
  };
  HR_TRY(const std::unique_ptr<net::Socket> socket,
         reactor->ConnectDealer(address, std::move(events)));
  reactor->AddOnce(timeout, [&] {
    finish(Unavailable("the coordinator at " + address +
                       " does not answer; it may not run, be of an older release, or give your "
                       "key no right to order (role admin)"));
  });
  HR_RETURN_IF_ERROR(socket->Send("", order));
  HR_RETURN_IF_ERROR(reactor->Run());
  return end ? *end : Internal("the order ended without an answer");
}

Result<wire::ClusterOrdered> SendOrder(const std::string& address, wire::ClusterOrder order,
                                       std::chrono::milliseconds timeout) {
  order.request = 1;
  wire::ClusterOrdered answer;
  HR_RETURN_IF_ERROR(AskAsAdmin(address, order, timeout, [&](wire::Body& body) {
    auto* ordered = std::get_if<wire::ClusterOrdered>(&body);
    if (ordered == nullptr || ordered->request != order.request) return false;
    answer = std::move(*ordered);
    return true;
  }));
  if (!answer.status.ok()) return answer.status;
  return answer;
}

}  // namespace headrace::cli
