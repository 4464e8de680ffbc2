#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <utility>

#include "remote/transfer_job.h"

namespace headrace::remote {

// What waits to be asked of one host. Payers take turns, so that one that has to wait holds up nobody
// else; of one payer it is first come first served. The client's thread.
class HostLine {
 public:
  void Push(TransferJob job) {
    Meter* const meter = job.meter();
    waiting_[meter].push_back(std::move(job));
  }
  // Takes out the next job that `may` begin, and is asked once for each payer; stale ones on the way are
  // dropped. Nullopt: none may.
  template <typename May>
  std::optional<TransferJob> Pop(May may) {
    DropStale();
    auto at = waiting_.upper_bound(last_);
    for (std::size_t i = waiting_.size(); i > 0; --i, ++at) {
      if (at == waiting_.end()) at = waiting_.begin();
      if (!may(at->second.front())) continue;
      TransferJob job = std::move(at->second.front());
      at->second.pop_front();
      last_ = at->first;
      if (at->second.empty()) waiting_.erase(at);
      return job;
    }
    return std::nullopt;
  }
  void DropStale() {
    for (auto& [meter, jobs] : waiting_) {
      std::erase_if(jobs, [](const TransferJob& job) { return job.is_stale(); });
    }
    std::erase_if(waiting_, [](const auto& one) { return one.second.empty(); });
  }
  // Calls `look` with each payer of which something waits.
  template <typename Look>
  void EachMeter(Look look) const {
    for (const auto& [meter, jobs] : waiting_) look(meter);
  }
  [[nodiscard]] bool empty() const { return waiting_.empty(); }

  std::size_t running = 0;

 private:
  std::map<Meter*, std::deque<TransferJob>> waiting_;  // none is empty after DropStale
  Meter* last_ = nullptr;                              // whose turn it was; perhaps gone
};

}  // namespace headrace::remote
