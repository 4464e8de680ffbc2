#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "coordinator/placement/placement.h"

namespace headrace::coordinator {

// What is left of the links of hosts while leases are placed. A lease on another host takes
// bytes_per_millicore of four amounts: the link of the worker's host, that of the trainer's host, what
// programs of the job's tenant say of that link, and what the job may have of the network. Each direction of a link is an amount of its own. A lease on the
// trainer's own host takes nothing. Whole numbers, so that the order of leases does not matter.
// Thread-compatible. Without any link (`limited`) it costs nothing.
class LinkLedger {
 public:
  // Both outlive it.
  LinkLedger(const std::vector<PlacementJob>& jobs, const std::vector<PlacementWorker>& workers);
  [[nodiscard]] bool limited() const { return limited_; }

  // Most millicores of the worker for the job that the links carry, with what is left of them.
  [[nodiscard]] std::int64_t Most(std::size_t job, std::size_t worker) const;
  // REQUIRES: millicores <= Most.
  void Take(std::size_t job, std::size_t worker, std::int64_t millicores);

  // Says whether too little is left to begin a lease of any job: less than a twentieth.
  [[nodiscard]] bool IsFull(std::size_t worker) const;
  // The same of what the job may have of the network, and of its host's link.
  [[nodiscard]] bool IsFullFor(std::size_t job) const;
  // And not even a least lease fits that.
  [[nodiscard]] bool IsSpent(std::size_t job) const;

 private:
  struct Amount {
    std::int64_t all = kNoLink, left = kNoLink;
    [[nodiscard]] bool full() const { return all != kNoLink && left < all / 20 + 1; }
    void Take(std::int64_t bytes) {
      if (all != kNoLink) left -= bytes;
    }
  };
  [[nodiscard]] bool Crosses(std::size_t job, std::size_t worker) const;

  const std::vector<PlacementJob>& jobs_;
  const std::vector<PlacementWorker>& workers_;
  bool limited_ = false;
  std::vector<Amount> amounts_;
  std::vector<std::size_t> of_worker_;  // positions in amounts_
  struct OfJob {
    std::size_t host, tenant, own;  // the same
  };
  std::vector<OfJob> of_job_;
};

}  // namespace headrace::coordinator
