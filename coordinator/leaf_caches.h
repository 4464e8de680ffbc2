#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include "coordinator/policy/core/policy.h"
#include "coordinator/state/state.h"

// What the policies are told of leaves: what stages of jobs without a data set keep of what they read
// (docs/reference/lanes.md#leaves). Why so: docs/adr/0072-leaves-in-policies.md. Pure.
namespace headrace::coordinator {

// The number of the data set of what a job's lanes keep: one for each program and user, whatever loaders the program
// opens. A later run of the program has the same, so orders about it hold. Named for the first loader's plan. 0: the
// job wants no cache.
[[nodiscard]] std::uint64_t LeafNumberOf(const State& state, const Job& job,
                                         std::string_view plan_name);
// The number of what the job keeps as leaves now; 0: its entries are those of a native data set, or of none.
[[nodiscard]] std::uint64_t LeafNumberOf(const State& state, JobId job);
// The same data set; nullptr: their entries are those of a native data set, or of none.
[[nodiscard]] const KnownDataset* LeavesOf(const State& state, JobId job);

// Of a job that reads no native data set any more while a stage of it is open: the account of what its lanes keep, for
// workers. It is another one than that of the data set. So what is cached of that stays as what ended jobs have left,
// and takes no room of the stage's quota. Jobs of one program have accounts of their own. While the data set is
// pinned, it is that of the data set, whenever it was pinned: workers keep what is in the account of its job. 0: it stays
// where it is. `held`: the grant that holds.
[[nodiscard]] std::uint64_t LeafAccountOf(const State& state, const Job& job,
                                          const wire::JobGrant& held);

// Whether something of the job looks into the worker's cache, or may be about to: a new job has room before its
// first lookup.
[[nodiscard]] bool LooksIntoCache(const Worker& worker, const Job& job);
// Whether the worker keeps leaves for the job: lanes run on the trainer's own host, and ask a worker there.
[[nodiscard]] bool KeepsLeavesOf(const State& state, WorkerId worker, const Job& job);

// A little room for each job whose stages look, so that what leaves are worth is measured whoever has the rest: the
// least of kMostToTry, and of what all such jobs may have together (kShareToTry) in equal parts.
constexpr double kMostToTry = 32 << 20;
constexpr double kShareToTry = 1.0 / 16;
[[nodiscard]] double RoomToTry(const State& state, double cache_bytes);

// The leaves of one job, or of the ranks of one program. They read parts of the same files in each epoch, and other
// parts in the next.
struct LeafSet {
  double bytes = 0;         // of all that is worth keeping; 0: nothing of them looks
  double cached_bytes = 0;  // of that, now
  double tried_bytes = 0;   // that are theirs whatever others would gain
  // False: not measured yet. Policies can't weigh them, and the room to try is all that is planned.
  bool measured = false;
};
// `jobs`: that want a cache, and have no data set. `to_try`: RoomToTry.
[[nodiscard]] LeafSet LeafSetOf(const State& state, std::span<const Job* const> jobs,
                                double to_try);

}  // namespace headrace::coordinator
