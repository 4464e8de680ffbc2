#pragma once

#include <cstdint>
#include <string>

#include "base/result.h"
#include "schemas/wire/control.h"

// The tables and the JSON of `headrace jobs|workers|pools|cache|datasets|top`. Pure: they make text from a
// ClusterStatus.
namespace headrace::cli {

// Tables of totals. With `before`, the previous answer, also rates between the two.
[[nodiscard]] std::string JobsTable(const wire::ClusterStatus& now,
                                    const wire::ClusterStatus* before = nullptr);
[[nodiscard]] std::string WorkersTable(const wire::ClusterStatus& now,
                                       const wire::ClusterStatus* before = nullptr);
// What the tiers of each worker hold, and what each worker holds of each data set.
[[nodiscard]] std::string CacheTable(const wire::ClusterStatus& now);
[[nodiscard]] std::string DatasetsTable(const wire::ClusterStatus& now);
[[nodiscard]] std::string PoolsTable(const wire::ClusterStatus& now);
// The jobs that have ended, as far as they were asked for: the last one first.
[[nodiscard]] std::string EndedTable(const wire::ClusterStatus& now);
// Indented JSON; its keys carry units.
[[nodiscard]] std::string JobsJson(const wire::ClusterStatus& now);
// The job of `headrace jobs show --json`, in the form of JobsJson. kNotFound: no such job.
[[nodiscard]] Result<std::string> JobJson(const wire::ClusterStatus& now, JobId job);
[[nodiscard]] std::string WorkersJson(const wire::ClusterStatus& now);
[[nodiscard]] std::string CacheJson(const wire::ClusterStatus& now);
[[nodiscard]] std::string DatasetsJson(const wire::ClusterStatus& now);
[[nodiscard]] std::string PoolsJson(const wire::ClusterStatus& now);
// The page of `headrace jobs show` for one job, with its other ranks unless they are lost; also of one that has
// ended.
// kNotFound: no such job.
[[nodiscard]] Result<std::string> JobPage(const wire::ClusterStatus& now, JobId job);
// Lines such as "rank 3 waits 41%: ...", for jobs about which something is known.
[[nodiscard]] std::string AdviceLines(const wire::ClusterStatus& now);
// Lines such as "worker 3 on node2 is unfit for job 5 (train.py): ...".
[[nodiscard]] std::string UnfitLines(const wire::ClusterStatus& now);
// Why programs can't open a job; empty: none tries.
[[nodiscard]] std::string RoomLine(const wire::ClusterStatus& now);
// Lines such as "worker 3 on node2 is draining: slow for 2 programs, job 5: ...".
[[nodiscard]] std::string SlowLines(const wire::ClusterStatus& now);
// What stands or stood in the way of each pool, and what to do about what stands.
[[nodiscard]] std::string PoolLines(const wire::ClusterStatus& now);
// One line of all pools that start workers; empty: there is none.
[[nodiscard]] std::string PoolsLine(const wire::ClusterStatus& now);
// "worker 3 on node2".
[[nodiscard]] std::string WorkerName(const wire::ClusterStatus& now, WorkerId id);
// The whole page of `top`.
[[nodiscard]] std::string TopPage(const std::string& address, const wire::ClusterStatus& now,
                                  const wire::ClusterStatus* before);

// "1.5G", "312M", "0".
[[nodiscard]] std::string BytesText(std::uint64_t bytes);
// "45s", "12m", "3h20m", "2d4h".
[[nodiscard]] std::string AgeText(std::int64_t ms);

}  // namespace headrace::cli
