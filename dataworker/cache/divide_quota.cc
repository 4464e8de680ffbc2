#include "dataworker/cache/divide_quota.h"

#include <algorithm>

namespace headrace::dataworker {

std::vector<std::uint64_t> DivideQuota(std::uint64_t quota,
                                       std::span<const std::uint64_t> budgets) {
  std::vector<std::uint64_t> shares;
  for (std::size_t i = 0; i < budgets.size(); ++i) {
    const bool last = i + 1 == budgets.size();
    shares.push_back(last ? quota : std::min(quota, budgets[i]));
    quota -= shares.back();
  }
  return shares;
}

}  // namespace headrace::dataworker
