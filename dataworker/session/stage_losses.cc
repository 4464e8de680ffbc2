#include "dataworker/session/stage_losses.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kMostRemembered = 4096;  // sessions with a lost Python process

}  // namespace

Status StageLosses::Add(SessionId session, const std::string& how) {
  if (lost_.size() >= kMostRemembered && !lost_.contains(session)) lost_.erase(lost_.begin());
  Lost& lost = lost_[session];
  ++lost.times;
  lost.how = how;
  if (Status refusal = Check(session); !refusal.ok()) return refusal;
  return NoSession("the Python stage of session " + std::to_string(session.value) +
                   " was lost: " + how);
}

Status StageLosses::Check(SessionId session) const {
  const auto found = lost_.find(session);
  if (found == lost_.end() || found->second.times < kMost) return {};
  return Unsupported("the Python stage of session " + std::to_string(session.value) + " was lost " +
                     std::to_string(found->second.times) + " times on this worker; the last time " +
                     found->second.how);
}

}  // namespace headrace::dataworker
