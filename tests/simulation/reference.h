#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace headrace::simulation {

// What every batch must hold: RowsOf of the batches that a quiet world makes of each plan and seed. It
// is made once. One thread.
class Reference {
 public:
  static constexpr std::int64_t kBatches = 200;
  static constexpr std::uint64_t kSeeds = 3;  // 1 .. kSeeds

  // REQUIRES: a plan, a seed and a batch of those above.
  [[nodiscard]] const std::vector<std::uint64_t>& Rows(int kind, std::uint64_t base_seed,
                                                       std::int64_t batch);

 private:
  using Batches = std::vector<std::vector<std::uint64_t>>;
  std::map<std::pair<int, std::uint64_t>, Batches> made_;
};

}  // namespace headrace::simulation
