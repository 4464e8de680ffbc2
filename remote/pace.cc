#include "remote/pace.h"

#include <poll.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace headrace::remote {
namespace {

// For how long a transfer is taken at its socket's word.
constexpr Duration kHiddenLook = std::chrono::milliseconds(10);

}  // namespace

std::unique_ptr<Intake> BeginIntake(const TransferJob& job, std::uint64_t buffer, Clock& clock,
                                    Transfer::Taker& taker) {
  const std::shared_ptr<Meter>& meter = job.fetch->request().meter;
  if (!meter) return nullptr;
  const bool head_only = job.fetch->request().what == ObjectRequest::What::kHead;
  const bool whole =
      job.fetch->request().what == ObjectRequest::What::kWhole && !job.part->has_range;
  auto intake = std::make_unique<Intake>(meter, buffer, clock.Now());
  std::uint64_t expected = job.part->has_range ? job.part->range.size : meter->MeanObject();
  if (expected == 0) expected = buffer;  // nothing is known yet: it may be large
  intake->Begin(head_only ? 0 : expected, clock.Now());
  Intake* const its = intake.get();  // lives as long as the transfer
  taker.on_head_bytes = [its, &clock](std::size_t bytes) { its->OnHeadBytes(bytes, clock.Now()); };
  taker.on_any_head = [its, head_only, whole, &clock](const ResponseHead& head) {
    its->OnHead(head_only ? std::nullopt : head.length, clock.Now());
    if (whole && head.status == 200 && head.length) its->meter().NoteObject(*head.length);
  };
  taker.on_body_bytes = [its, &clock](std::size_t bytes) {
    return its->OnBody(bytes, clock.Now());
  };
  return intake;
}

HeldTransfers LookAtHeld(RunningTransfers& running, SteadyTime now) {
  std::vector<RunningTransfer*> held;
  std::vector<pollfd> sockets;
  for (auto& [handle, one] : running) {
    if (!one.intake || !one.intake->held()) continue;
    held.push_back(&one);
    sockets.push_back({.fd = one.transfer->socket(), .events = POLLIN, .revents = 0});
  }
  HeldTransfers found;
  if (held.empty()) return found;
  (void)::poll(sockets.data(), sockets.size(), 0);
  for (std::size_t i = 0; i < held.size(); ++i) {
    RunningTransfer& one = *held[i];
    const bool readable = sockets[i].revents != 0;
    // What a socket had may wait in libcurl: for another transfer of the connection, or decrypted.
    const bool perhaps = !readable && now - one.intake->heard() >= kHiddenLook;
    one.job.deadline += one.intake->OnLook(readable, now);
    if (readable || perhaps) {
      found.readable[&one.intake->meter()].push_back(&one);
    } else {
      found.quiet.push_back({.fd = sockets[i].fd, .events = CURL_WAIT_POLLIN, .revents = 0});
    }
  }
  for (auto& [meter, ones] : found.readable) {
    std::ranges::sort(ones, {}, &RunningTransfer::number);
  }
  return found;
}

std::vector<std::pair<CURL*, CURLcode>> ResumeHeld(HeldTransfers& held, SteadyTime now) {
  std::vector<std::pair<CURL*, CURLcode>> ended;
  for (auto& [meter, ones] : held.readable) {
    if (meter->ReadyAt(now) > now) continue;
    ones.front()->intake->Resume(now);
    const CURLcode code = ones.front()->transfer->Resume();
    if (code != CURLE_OK) ended.emplace_back(ones.front()->transfer->handle(), code);
    ones.erase(ones.begin());
  }
  std::erase_if(held.readable, [](const auto& one) { return one.second.empty(); });
  return ended;
}

std::vector<CURL*> TooLate(const RunningTransfers& running, const RequestLimits& limits,
                           SteadyTime now) {
  std::vector<CURL*> late;
  for (const auto& [handle, one] : running) {
    if (!one.intake) continue;
    if (now >= one.job.deadline || now - one.intake->heard() >= limits.slow) {
      late.push_back(handle);
    }
  }
  return late;
}

}  // namespace headrace::remote
