#include "dataworker/session/waiting_requests.h"

namespace headrace::dataworker {

bool WaitingRequests::IsNew(std::uint32_t attempt) {
  if (!attempts_.insert(attempt).second) return false;
  if (attempts_.size() > kAttemptsKept) attempts_.erase(attempts_.begin());
  return true;
}

std::vector<wire::BatchRequest> WaitingRequests::TakeOlder(IterationId than) {
  std::vector<wire::BatchRequest> older;
  std::deque<Request> kept;
  for (Request& request : waiting_) {
    auto* batch = std::get_if<wire::BatchRequest>(&request.asked);
    if (batch != nullptr && batch->iteration < than) {
      older.push_back(std::move(*batch));
    } else {
      kept.push_back(std::move(request));
    }
  }
  waiting_ = std::move(kept);
  return older;
}

}  // namespace headrace::dataworker
