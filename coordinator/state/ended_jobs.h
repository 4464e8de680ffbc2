#pragma once

#include <cstddef>
#include <deque>
#include <memory>

#include "base/ids.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// The jobs that ended last, for `headrace jobs --all`. Bounded: of more than kMost the one that ended longest ago is
// forgotten. A copy shares its entries, since the coordinator copies its state for each decision. Thread-compatible;
// a value. Owned by State.
class EndedJobs {
 public:
  static constexpr std::size_t kMost = 1000;

  void Add(const wire::EndedJob& job);
  // In the order in which they ended.
  [[nodiscard]] const std::deque<std::shared_ptr<const wire::EndedJob>>& all() const {
    return jobs_;
  }

 private:
  std::deque<std::shared_ptr<const wire::EndedJob>> jobs_;
};

}  // namespace headrace::coordinator
