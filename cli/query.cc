#include "cli/query.h"

#include <optional>
#include <variant>

#include "cli/commands.h"
#include "net/keyring.h"

namespace headrace::cli {

Result<std::unique_ptr<StatusPoller>> StatusPoller::Make(net::Reactor& reactor,
                                                         const std::string& address,
                                                         OnAnswer on_answer,
                                                         const wire::StatusQuery& query) {
  std::unique_ptr<StatusPoller> poller(
      new StatusPoller(reactor, address, std::move(on_answer), query));
  StatusPoller* self = poller.get();
  HR_TRY(poller->socket_,
         reactor.ConnectDealer(
             address, {[self](net::Incoming&& message) { self->OnMessage(std::move(message)); },
                       [self](const std::string&, const Status& error) {
                         self->Answer(error.WithContext("coordinator at " + self->address_));
                       }}));
  return poller;
}

void StatusPoller::Ask(std::chrono::milliseconds timeout) {
  if (waiting_) return;
  waiting_ = true;
  deadline_ = reactor_.AddOnce(timeout, [this, timeout] {
    const auto tenths = timeout.count() / 100;
    std::string seconds = std::to_string(tenths / 10);
    const bool tcp = address_.starts_with("tcp://");
    const std::string keys = tcp ? ", or give both the same --keys" : "";
    if (tenths % 10 != 0) seconds.append(".").append(std::to_string(tenths % 10));
    Answer(Unavailable("no coordinator answers at " + address_ + " within " + seconds +
                       " s; start one with `headrace coordinator --listen " + address_ + "`" +
                       keys));
  });
  wire::StatusQuery query = query_;
  query.request = ++asked_;
  if (Status s = socket_->Send("", query); !s.ok()) Answer(std::move(s));
}

void StatusPoller::OnMessage(net::Incoming&& message) {
  auto* status = std::get_if<wire::ClusterStatus>(&message.body);
  if (!status) return;
  if (!status->status.ok()) return Answer(status->status);
  if (status->request == asked_) Answer(std::move(*status));
}

void StatusPoller::Answer(Result<wire::ClusterStatus> answer) {
  if (!waiting_) return;
  waiting_ = false;
  reactor_.CancelTimer(deadline_);
  on_answer_(std::move(answer));
}

Result<std::unique_ptr<net::Reactor>> MakeQueryReactor(std::string name,
                                                       const std::string& address) {
  return net::MakeKeyedReactor(std::move(name), KeysDirectory(address),
                               {wire::Role::kObserver, wire::Role::kAdmin, wire::Role::kTrainer});
}

Result<wire::ClusterStatus> QueryStatus(const std::string& address,
                                        std::chrono::milliseconds timeout,
                                        const wire::StatusQuery& query) {
  HR_TRY(std::unique_ptr<net::Reactor> reactor, MakeQueryReactor("hr-query", address));
  std::optional<Result<wire::ClusterStatus>> answer;
  HR_TRY(std::unique_ptr<StatusPoller> poller, StatusPoller::Make(
                                                   *reactor, address,
                                                   [&](Result<wire::ClusterStatus> got) {
                                                     answer.emplace(std::move(got));
                                                     reactor->Stop();
                                                   },
                                                   query));
  poller->Ask(timeout);
  HR_RETURN_IF_ERROR(reactor->Run());
  if (!answer) return Internal("the query ended without an answer");
  return *std::move(answer);
}

}  // namespace headrace::cli
