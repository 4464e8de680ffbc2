#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "coordinator/placement/placement.h"

namespace headrace::coordinator {

// The workers of the pool that have cores left, by their size and by rack. Thread-compatible.
class FreeWorkers {
 public:
  // `workers` outlives it. There is none at first.
  explicit FreeWorkers(const std::vector<PlacementWorker>& workers);
  // `left`: millicores, > 0. A worker is there at most once, and is taken out as it was put in.
  void Add(std::size_t worker, std::int32_t left);
  void Remove(std::size_t worker, std::int32_t left);

  // The smallest of these that covers `need` millicores, or the largest; of equal ones the first. Those
  // of the rack come before all others, if it is named and a lease fits one of them. Of the smallest kLook that cover the need, one
  // for which `carries` says true comes before them. nullopt: there is none.
  [[nodiscard]] std::optional<std::size_t> Choose(
      std::int64_t need, const std::string& rack,
      const std::function<bool(std::size_t)>& carries) const;
  static constexpr int kLook = 16;

 private:
  using Sizes = std::set<std::pair<std::int32_t, std::size_t>>;  // (left, worker)

  Sizes all_;
  std::unordered_map<std::string, Sizes> racks_;
  std::vector<Sizes*> racks_of_;  // by worker; nullptr: it names none
};

}  // namespace headrace::coordinator
