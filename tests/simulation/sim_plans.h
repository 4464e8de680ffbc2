#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/graph.h"
#include "headrace/client.h"
#include "tests/simulation/sim_source.h"

namespace headrace::simulation {

// The plans of simulated programs, small and of every random mode. The last one is the one before it,
// from a source that waits, and whose samples' sizes only workers know.
inline constexpr int kPlans = 5;

// Plans of the program's own code, which runs in lanes that keep state: without torch's random numbers,
// and with them.
inline constexpr int kLanePlan = kPlans;
inline constexpr int kLanePlans = 2;
[[nodiscard]] inline bool RunsInLanes(int kind) { return kind >= kLanePlan; }

struct SimPlan {
  Plan plan;
  std::map<BlobHash, Blob> blobs;
};
// REQUIRES: 0 <= kind < kPlans + kLanePlans.
[[nodiscard]] const SimPlan& PlanOf(int kind);

// A row of every plan's source.
[[nodiscard]] SimRow RowAt(std::int64_t row);
inline constexpr std::int64_t kRows = 64;

// The keys of a batch; nothing else decides them.
[[nodiscard]] std::vector<std::int64_t> KeysOf(std::uint64_t base_seed, std::int64_t batch);

// A word for each row of a batch: two are equal if the rows' bytes in all fields are. Of lanes: what
// their code made.
[[nodiscard]] std::vector<std::uint64_t> RowsOf(const Batch& batch);
// What a sample's own code does to its lane's generators: their state after it, as in MissingSample.
// Each sample of a plan draws as much as any other. REQUIRES: a plan of RngMode::kTorch.
[[nodiscard]] Bytes StateAfter(int kind, ByteSpan state_before);
// What RowsOf must be for plan 0, which draws nothing, without any code of the product.
[[nodiscard]] std::vector<std::uint64_t> PlainRows(const std::vector<std::int64_t>& keys);

}  // namespace headrace::simulation
