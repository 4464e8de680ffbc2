#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "dataworker/cache/cache_fixture.h"
#include "dataworker/cache/fake_slow_tier.h"
#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/cache/sample_store.h"

namespace headrace::dataworker {

// For tests: a store over one to three tiers, the memory tier and fake slow ones that answer when
// told.
struct Stack {
  std::vector<CacheTier*> tiers;
  std::vector<FakeSlowTier*> slow;
  std::vector<std::uint64_t> budgets;
  std::unique_ptr<SampleStore> store;

  // `memory`: the first tier answers at once.
  Stack(bool memory, const std::vector<std::uint64_t>& sizes, unsigned seed,
        std::size_t most_fetches = SampleStore::kMostFetches)
      : budgets(sizes) {
    std::vector<SampleStore::Tier> made;
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      std::unique_ptr<CacheTier> tier;
      if (i == 0 && memory) {
        tier = MakeMemoryCache(sizes[i]);
      } else {
        auto fake = std::make_unique<FakeSlowTier>(sizes[i], seed + static_cast<unsigned>(i));
        slow.push_back(fake.get());
        tier = std::move(fake);
      }
      tiers.push_back(tier.get());
      made.push_back({"tier" + std::to_string(i), std::move(tier)});
    }
    store = std::make_unique<SampleStore>(std::move(made), most_fetches);
  }
  bool AnswerOne() {
    bool any = false;
    for (FakeSlowTier* tier : slow) any = tier->AnswerOne() || any;
    return any;
  }
  CacheLookup Get(std::uint64_t inode, JobId job = kJob) {
    return AskStore(*store, job, Key(inode), [this] { AnswerOne(); });
  }
  [[nodiscard]] std::uint64_t entries(std::size_t tier) const {
    return tiers[tier]->Stats().entries;
  }
};

}  // namespace headrace::dataworker
