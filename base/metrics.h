#pragma once

// The table of metrics: every number that Headrace measures, once. Adding one is a row here and the
// line that measures it (docs/howto/add-metric.md).
//
// From a row are made: the member of the plain structs and their sums, the field on the wire
// (schemas/fbs/*.fbs.in), the keys of `stats()`, of the report and of `headrace jobs|workers
// --json`, the column of `headrace top`, the line of `headrace metrics`, and the row of
// docs/reference/metrics.md.
//
// A list is named after the thing that has the numbers. X gets, in this order:
//   type    u64, u32 or f64
//   name    of the member and of the field on the wire; it ends with the unit of ns and millicores
//   id      of the field on the wire; it never changes, and a new one is the next free number
//   unit    of MetricUnit (base/metric.h)
//   kind    kCounter: a total that only grows. kGauge: a value of now
//   column  heading in `headrace top`; "": none
//   help    a phrase
// Only macros and comments may stand in this file: the schema is made from it by the preprocessor.

// What a worker tells of one batch, field `id` of BatchCost. The client adds the batches up. So each
// row is a counter of the session, too: field `total` of SessionLoad, as u64.
// X(type, name, id, total, unit, column, help)
#define HEADRACE_BATCH_METRICS(X)                                                                \
  X(u64, source_ns, 0, 30, kNanoseconds, "", "wall time of threads that read samples")           \
  X(u64, compute_ns, 1, 31, kNanoseconds, "",                                                    \
    "wall time of threads that make samples natively; of one batch, with its Python stage")      \
  X(u64, queue_ns, 2, 32, kNanoseconds, "",                                                      \
    "wall time from the receipt of a request to its first sample's start")                       \
  X(u32, decoded_hits, 3, 33, kCount, "", "samples that were found decoded in the cache")        \
  X(u32, encoded_hits, 4, 34, kCount, "", "samples that were found encoded in the cache")        \
  X(u32, misses, 5, 35, kCount, "", "samples that were read from their source")                  \
  X(u32, native_images, 6, 36, kCount, "", "pictures that were made natively for Python stages") \
  X(u64, hit_cpu_ns, 7, 17, kNanoseconds, "",                                                    \
    "CPU time of threads on samples from the decoded cache")                                     \
  X(u64, miss_cpu_ns, 8, 18, kNanoseconds, "",                                                   \
    "CPU time of threads and stage hosts on all other samples")                                  \
  X(u64, source_bytes, 9, 19, kBytes, "", "read from sources, and by Python stages from files")  \
  X(u64, python_ns, 10, 37, kNanoseconds, "", "wall time in Python stages")                      \
  X(u64, wall_ns, 11, 38, kNanoseconds, "",                                                      \
    "wall time from the receipt of a request to its answer, added up over the batches")          \
  X(u32, refused_samples, 12, 39, kCount, "",                                                    \
    "samples that workers could not make natively, so that the trainer made them again")         \
  X(u32, leaf_hits, 13, 48, kCount, "",                                                          \
    "files, pictures and results of functions that lanes of Python stages found in the cache")   \
  X(u32, leaf_misses, 14, 49, kCount, "", "of these, what was looked for and not found")

// What a client counts for one loader since its session began: fields of SessionLoad.
// X(type, name, id, unit, kind, column, help)
#define HEADRACE_SESSION_METRICS(X)                                                          \
  X(u64, batches, 1, kCount, kCounter, "BATCHES", "batches that the program got")            \
  X(u64, samples, 2, kCount, kCounter, "SAMPLES", "samples of these batches")                \
  X(u64, stall_ns, 3, kNanoseconds, kCounter, "", "time in next()")                          \
  X(u64, step_ns, 4, kNanoseconds, kCounter, "", "time between two next() of an iteration")  \
  X(u64, wait_sampler_ns, 6, kNanoseconds, kCounter, "",                                     \
    "part of the stall: the program's own sampler")                                          \
  X(u64, wait_source_ns, 7, kNanoseconds, kCounter, "",                                      \
    "part of the stall: workers read samples, or their sizes")                               \
  X(u64, wait_compute_ns, 8, kNanoseconds, kCounter, "",                                     \
    "part of the stall: workers decode and augment natively")                                \
  X(u64, wait_python_ns, 9, kNanoseconds, kCounter, "",                                      \
    "part of the stall: workers run a Python stage")                                         \
  X(u64, wait_queue_ns, 10, kNanoseconds, kCounter, "",                                      \
    "part of the stall: no worker or none of its threads, and waits that are not over")      \
  X(u64, wait_network_ns, 11, kNanoseconds, kCounter, "",                                    \
    "part of the stall: request and answer on their way")                                    \
  X(u64, wait_copy_ns, 12, kNanoseconds, kCounter, "",                                       \
    "part of the stall: the trainer's own part, with the samples that it makes itself")      \
  X(u64, idle_ns, 13, kNanoseconds, kCounter, "",                                            \
    "part of the stall in which the device had nothing to do; only if that is measured")     \
  X(u64, hit_samples, 15, kCount, kCounter, "",                                              \
    "samples that workers made from the decoded cache")                                      \
  X(u64, miss_samples, 16, kCount, kCounter, "", "all others that workers worked on")        \
  X(u64, compared, 20, kCount, kCounter, "",                                                 \
    "batches that were made on the trainer's host, too, to compare them")                    \
  X(u64, differed, 21, kCount, kCounter, "", "of these, batches with other values")          \
  X(u64, iterations, 22, kCount, kCounter, "", "iterations that the program began")          \
  X(u64, shm_bytes, 23, kBytes, kCounter, "", "of batches that came through shared memory")  \
  X(u64, tcp_bytes, 24, kBytes, kCounter, "", "of batches that came over sockets")           \
  X(u64, hedged, 25, kCount, kCounter, "",                                                   \
    "batches that a second worker was asked for because they were late")                     \
  X(u64, rerequested, 26, kCount, kCounter, "",                                              \
    "batches that were asked for again because their worker was lost")                       \
  X(u64, missing_samples, 27, kCount, kCounter, "", "samples that the trainer made itself")  \
  X(u64, arena_bytes, 28, kBytes, kGauge, "", "memory for batches")                          \
  X(u64, arena_slots, 29, kCount, kGauge, "", "slots in this memory")                        \
  X(u64, received_bytes, 41, kBytes, kCounter, "",                                           \
    "of payloads that crossed sockets: less than tcp_bytes where uint8 crossed")             \
  X(u64, finished_batches, 42, kCount, kCounter, "",                                         \
    "batches that crossed as uint8 and were finished in the trainer")                        \
  X(u64, finish_ns, 43, kNanoseconds, kCounter, "", "time of the client's reactor for that") \
  X(u64, bad_samples, 44, kCount, kCounter, "",                                              \
    "samples that could not be made, and that the program went on without")

// What only the heartbeat of a loader tells, beside the two lists above: fields of SessionLoad.
#define HEADRACE_LOAD_METRICS(X)                                                                  \
  X(u64, outstanding_bytes, 5, kBytes, kGauge, "", "asked for and not delivered")                 \
  X(u64, ready_batches, 45, kCount, kGauge, "", "batches that are made and wait for the program") \
  X(u64, window_batches, 46, kCount, kGauge, "",                                                  \
    "batches that may be asked for ahead of the program")

// What a worker says of itself, since its start: fields of WorkerHeartbeat.
#define HEADRACE_WORKER_METRICS(X)                                                                 \
  X(f64, cpu_seconds, 2, kSeconds, kCounter, "CPU", "CPU time of the process and its stage hosts") \
  X(u64, resident_bytes, 3, kBytes, kGauge, "MEMORY", "memory of the process")                     \
  X(u64, memory_limit_bytes, 13, kBytes, kGauge, "LIMIT",                                          \
    "memory that the process may use for its work (--memory)")                                     \
  X(u64, work_bytes, 14, kBytes, kGauge, "",                                                       \
    "memory that batches, large pictures, and jobs' code and tables take")                         \
  X(u64, cache_bytes, 4, kBytes, kGauge, "CACHE", "memory that the cache takes")                   \
  X(u64, cache_hits, 5, kCount, kCounter, "", "samples that were found in the cache")              \
  X(u64, cache_misses, 6, kCount, kCounter, "", "samples that were not found in the cache")        \
  X(u64, samples, 7, kCount, kCounter, "SAMPLES", "samples that were made")                        \
  X(u64, queued_samples, 8, kCount, kGauge, "QUEUED", "samples that wait for a thread")

// What one job used of one worker, since the worker's start: fields of JobUsage.
#define HEADRACE_USAGE_METRICS(X)                                                            \
  X(u64, cpu_ns, 1, kNanoseconds, kCounter, "",                                              \
    "CPU time of threads on its samples, and of its stage hosts")                            \
  X(u64, samples, 2, kCount, kCounter, "", "samples that were made")                         \
  X(u64, source_bytes, 3, kBytes, kCounter, "", "read at its sources")                       \
  X(u64, limited_ns, 4, kNanoseconds, kCounter, "",                                          \
    "time for which a limit of the source held its work back")                               \
  X(u64, cache_bytes, 5, kBytes, kGauge, "", "memory that its entries in the cache take")    \
  X(u64, cache_entries, 6, kCount, kGauge, "", "its entries in the cache")                   \
  X(u64, cache_hits, 7, kCount, kCounter, "", "samples that were found in the cache")        \
  X(u64, cache_misses, 8, kCount, kCounter, "", "samples that were not found in the cache")  \
  X(u64, queued_samples, 9, kCount, kGauge, "", "samples that wait for a thread")            \
  X(u64, cache_entry_bytes, 11, kBytes, kGauge, "",                                          \
    "what its entries in the cache take without the empty ends of chunks")                   \
  X(u64, replica_bytes, 14, kBytes, kGauge, "",                                              \
    "memory of copies of entries that other workers own; only room that nothing else wants") \
  X(u64, replica_entries, 15, kCount, kGauge, "", "these copies")                            \
  X(u64, replica_hits, 16, kCount, kCounter, "",                                             \
    "samples that were found in these copies; not among cache_hits")                         \
  X(u64, cache_made_ns, 17, kNanoseconds, kGauge, "",                                        \
    "CPU time that it took to make its entries in the cache")

// What the coordinator says of one job: fields of JobStatus.
#define HEADRACE_JOB_METRICS(X)                                                                 \
  X(f64, samples_per_second, 12, kPerSecond, kGauge, "", "samples that it got of late")         \
  X(f64, samples_per_second_when_ready, 13, kPerSecond, kGauge, "",                             \
    "samples that its trainer would take of late, with data always ready")                      \
  X(f64, wait_share, 14, kShare, kGauge, "", "part of its time that it waited of late, 0 to 1") \
  X(u32, demand_millicores, 15, kMillicores, kGauge, "", "cores that it could use")             \
  X(u32, granted_millicores, 16, kMillicores, kGauge, "", "cores that its leases add up to")    \
  X(u64, cache_bytes_granted, 17, kBytes, kGauge, "", "its quota of the caches of its workers") \
  X(u64, source_bytes_per_second_limit, 18, kPerSecond, kGauge, "",                             \
    "limit on its sources, on all its workers; 0: none")                                        \
  X(u64, sent_bytes_per_sample, 23, kBytes, kGauge, "",                                         \
    "of batches of its workers, as far as they cross a network; 0: not known")                  \
  X(u64, link_bytes_per_second_share, 24, kPerSecond, kGauge, "",                               \
    "what the links of hosts leave for its batches; 0: no limit is known")                      \
  X(u32, granted_local_millicores, 27, kMillicores, kGauge, "",                                 \
    "of the granted cores, those of workers that its own host started for it")

// What a job had and used since it began, in all its loaders: fields of JobTotals. Rows named stall_CAUSE_ns are one
// metric with a label for the cause.
#define HEADRACE_JOB_TOTALS(X)                                                                     \
  X(u64, samples, 0, kCount, kCounter, "", "samples that its program got")                         \
  X(u64, batches, 1, kCount, kCounter, "", "batches of these samples")                             \
  X(u64, hit_samples, 2, kCount, kCounter, "", "samples that workers made from the decoded cache") \
  X(u64, miss_samples, 3, kCount, kCounter, "", "all others that workers worked on")               \
  X(u64, step_ns, 4, kNanoseconds, kCounter, "",                                                   \
    "time in which it did not wait for data; where the device is measured, also waiting that "     \
    "the device did not notice")                                                                   \
  X(u64, stall_sampler_ns, 5, kNanoseconds, kCounter, "", "time in which it waited, by cause")     \
  X(u64, stall_source_ns, 6, kNanoseconds, kCounter, "", "time in which it waited, by cause")      \
  X(u64, stall_compute_ns, 7, kNanoseconds, kCounter, "", "time in which it waited, by cause")     \
  X(u64, stall_python_ns, 8, kNanoseconds, kCounter, "", "time in which it waited, by cause")      \
  X(u64, stall_queue_ns, 9, kNanoseconds, kCounter, "", "time in which it waited, by cause")       \
  X(u64, stall_network_ns, 10, kNanoseconds, kCounter, "", "time in which it waited, by cause")    \
  X(u64, stall_copy_ns, 11, kNanoseconds, kCounter, "", "time in which it waited, by cause")       \
  X(f64, cpu_seconds, 12, kSeconds, kCounter, "", "CPU time that workers spent on it")             \
  X(f64, granted_core_seconds, 13, kSeconds, kCounter, "",                                         \
    "cores that it was granted, each times the seconds that it had it")

// What the coordinator says of one data set in caches: fields of DatasetStatus.
#define HEADRACE_DATASET_METRICS(X)                                                \
  X(f64, duplicate_share, 15, kShare, kGauge, "",                                  \
    "part of its cached entries beyond the first copy of each, 0 to 1; estimated") \
  X(f64, duplicate_share_error, 16, kShare, kGauge, "", "standard error of that")  \
  X(u64, sampled_entries, 17, kCount, kGauge, "",                                  \
    "cached entries that the estimate is made from; 0: nothing is known")          \
  X(u64, replica_bytes, 18, kBytes, kGauge, "",                                    \
    "memory of copies of its entries on workers that do not own them")             \
  X(u64, replica_entries, 19, kCount, kGauge, "", "these copies")                  \
  X(u64, replica_hits, 20, kCount, kGauge, "",                                     \
    "samples that were found in these copies, by the workers there are")

// What the coordinator says of one of its pools: fields of PoolStatus. The rows of members in a state, `queued` to
// `lost`, are one metric with a label for the state.
#define HEADRACE_POOL_METRICS(X)                                                                 \
  X(u32, queued, 10, kCount, kGauge, "", "workers of a pool in each state")                      \
  X(u32, starting, 11, kCount, kGauge, "", "workers of a pool in each state")                    \
  X(u32, running, 12, kCount, kGauge, "", "workers of a pool in each state")                     \
  X(u32, waiting, 13, kCount, kGauge, "", "workers of a pool in each state")                     \
  X(u32, draining, 14, kCount, kGauge, "", "workers of a pool in each state")                    \
  X(u32, lost, 15, kCount, kGauge, "", "workers of a pool in each state")                        \
  X(u32, wanted_workers, 16, kCount, kGauge, "",                                                 \
    "workers that a pool has or was asked for, without those that leave or are lost")            \
  X(f64, cores, 17, kCount, kGauge, "", "cores of a pool's workers that are there")              \
  X(f64, core_price, 18, kCount, kGauge, "",                                                     \
    "what one of them costs an hour; none where it is not known")                                \
  X(f64, cost_per_hour, 19, kCount, kGauge, "",                                                  \
    "what all of them cost an hour; none where it is not known")                                 \
  X(u32, usable, 20, kCount, kGauge, "",                                                         \
    "1: it is asked in its turn; 0: it is passed over, after a failure, a pre-emption or "       \
    "without room")                                                                              \
  X(f64, passed_over_seconds, 21, kSeconds, kGauge, "",                                          \
    "time for which it is still passed over; 0: it is not, or nobody knows")                     \
  X(u32, troubled, 22, kCount, kGauge, "",                                                       \
    "1: its engine refuses workers, fails or starts them in vain; 0: it does not, or it has no " \
    "room")

// What the coordinator says of itself and of workers that are gone: fields of ClusterStatus.
#define HEADRACE_CLUSTER_METRICS(X)                                                         \
  X(f64, coordinator_cpu_seconds, 4, kSeconds, kCounter, "", "CPU time of the coordinator") \
  X(f64, ended_workers_cpu_seconds, 7, kSeconds, kCounter, "",                              \
    "CPU time of workers that are gone and not listed any more")                            \
  X(u32, slow_workers, 8, kCount, kGauge, "", "workers that a job calls slow")              \
  X(u64, slow_workers_drained, 9, kCount, kCounter, "",                                     \
    "workers that the coordinator has drained because they were slow, since its start")     \
  X(u32, programs_without_room, 10, kCount, kGauge, "",                                     \
    "programs that ask for a job and find no room (--max-jobs)")                            \
  X(u32, desired_workers, 13, kCount, kGauge, "",                                           \
    "workers that the pool is to have by what jobs ask for, within --workers and --max-workers")
