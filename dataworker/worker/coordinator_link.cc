#include "dataworker/worker/coordinator_link.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/log.h"

namespace headrace::dataworker {
namespace {

constexpr Duration kRegisterAgain = std::chrono::seconds(1);
constexpr int kSilentAfter = 3;  // requests without an answer, then the log says so
constexpr std::size_t kAskedKept = 16;
// How many heartbeats there are for each that tells samples of entries.
constexpr std::uint64_t kBeatsPerSample = 8;
constexpr Duration kShortestBeat = std::chrono::milliseconds(50);

}  // namespace

CoordinatorLink::CoordinatorLink(net::Reactor& reactor, wire::WorkerInfo info, std::string token,
                                 Events events)
    : reactor_(reactor),
      info_(std::move(info)),
      events_(std::move(events)),
      token_(std::move(token)) {}

Result<std::unique_ptr<CoordinatorLink>> CoordinatorLink::Open(net::Reactor& reactor,
                                                               const std::string& endpoint,
                                                               wire::WorkerInfo info,
                                                               std::string token, Events events) {
  std::unique_ptr<CoordinatorLink> link(
      new CoordinatorLink(reactor, std::move(info), std::move(token), std::move(events)));
  net::SocketEvents socket_events;
  socket_events.on_message = [raw = link.get()](net::Incoming&& incoming) {
    raw->OnMessage(incoming.body);
  };
  socket_events.on_invalid = [raw = link.get()](const std::string&, const Status& error) {
    if (error.code() == Code::kOtherRelease) raw->events_.on_refused(error);
  };
  link->endpoint_ = endpoint;
  HR_TRY(link->socket_, reactor.ConnectDealer(endpoint, std::move(socket_events)));
  link->Register();
  link->StartTimer(kRegisterAgain, &CoordinatorLink::Register);
  return link;
}

CoordinatorLink::~CoordinatorLink() { StopTimer(); }

void CoordinatorLink::StopTimer() {
  if (timer_ != 0) reactor_.CancelTimer(timer_);
  timer_ = 0;
}

void CoordinatorLink::StartTimer(Duration interval, void (CoordinatorLink::*tick)()) {
  StopTimer();
  timer_ = reactor_.AddTimer(interval, [this, tick] { (this->*tick)(); });
}

void CoordinatorLink::Register() {
  if (unanswered_++ == kSilentAfter) {
    LogWarning("no coordinator answers at " + endpoint_ +
               "; still trying. Start one with `headrace coordinator --listen " + endpoint_ +
               "`, or correct --coordinator");
  }
  wire::RegisterWorker message;
  message.request = ++request_;
  message.token = token_;
  message.info = info_;
  (void)socket_->Send({}, message);  // repeated by the timer
}

void CoordinatorLink::Beat() {
  wire::WorkerHeartbeat beat = events_.load();
  beat.request = ++request_;
  beat.worker = worker_;
  beat.token = token_;
  if (beats_++ % kBeatsPerSample > 0) {
    for (wire::JobUsage& usage : beat.usage) {
      usage.sampled_below = 0;
      usage.sampled.clear();
    }
  }
  asked_[beat.request] = reactor_.clock().Now();
  if (asked_.size() > kAskedKept) asked_.erase(asked_.begin());
  (void)socket_->Send({}, beat);
}

void CoordinatorLink::OnMessage(const wire::Body& body) {
  if (left_) return;
  if (const auto* registered = std::get_if<wire::WorkerRegistered>(&body)) {
    if (!registered->status.ok()) {
      events_.on_refused(registered->status);
      return;
    }
    if (worker_ == registered->worker) return;  // answers to a repeat
    worker_ = registered->worker;
    beats_ = 0;
    const LogLevel level = unanswered_ > kSilentAfter ? LogLevel::kWarning : LogLevel::kInfo;
    unanswered_ = 0;
    Log(level, "registered at " + endpoint_ + " worker=" + std::to_string(worker_.value));
    StartTimer(
        std::max<Duration>(std::chrono::milliseconds(registered->heartbeat_ms), kShortestBeat),
        &CoordinatorLink::Beat);
    events_.on_registered(worker_);
  } else if (const auto* directive = std::get_if<wire::WorkerDirective>(&body)) {
    if (IsNoSession(directive->status)) {
      worker_ = WorkerId();
      Register();
      StartTimer(kRegisterAgain, &CoordinatorLink::Register);
      return;
    }
    if (directive->status.ok()) {
      const auto asked = asked_.extract(directive->request);
      events_.on_directive(*directive, asked ? std::optional(asked.mapped()) : std::nullopt);
    }
    ++directives_;
    if (directive->drain) {
      draining_ = true;
      events_.on_drain();
    }
  }
}

void CoordinatorLink::Leave() {
  if (left_) return;
  left_ = true;
  if (!worker_.valid()) {
    StopTimer();
  } else if (!draining_) {
    (void)socket_->Send({}, wire::LeaveWorker{worker_, token_});
  }
}

void CoordinatorLink::Gone() {
  left_ = true;
  StopTimer();
  if (!worker_.valid()) return;
  Beat();
  (void)socket_->Send({}, wire::LeaveWorker{worker_, token_});
}

}  // namespace headrace::dataworker
