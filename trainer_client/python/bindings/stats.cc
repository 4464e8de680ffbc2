#include "trainer_client/python/bindings/stats.h"

namespace nb = nanobind;

namespace headrace::python {

nb::dict StatsOf(const SessionStats& stats) {
  nb::dict dict;
  dict["batches"] = stats.batches;
  dict["samples"] = stats.samples;
  dict["iterations"] = stats.iterations;
  dict["stall_ns"] = stats.stall_ns;
  dict["step_ns"] = stats.step_ns;
  dict["shm_bytes"] = stats.shm_bytes;
  dict["tcp_bytes"] = stats.tcp_bytes;
  dict["decoded_hits"] = stats.decoded_hits;
  dict["encoded_hits"] = stats.encoded_hits;
  dict["misses"] = stats.misses;
  nb::dict by_tier;
  for (const auto& [name, hits] : stats.hits_by_tier) {
    nb::dict tier;
    tier["decoded"] = hits.decoded;
    tier["encoded"] = hits.encoded;
    by_tier[nb::str(name.c_str(), name.size())] = tier;
  }
  dict["hits_by_tier"] = by_tier;
  dict["native_images"] = stats.native_images;
  dict["hedged"] = stats.hedged;
  dict["rerequested"] = stats.rerequested;
  dict["missing_samples"] = stats.missing_samples;
  dict["compared"] = stats.compared;
  dict["differed"] = stats.differed;
  nb::dict by_worker;
  for (const auto& [worker, samples] : stats.samples_by_worker)
    by_worker[nb::cast(worker)] = samples;
  dict["samples_by_worker"] = by_worker;
  dict["arena_bytes"] = stats.arena_bytes;
  dict["arena_slots"] = stats.arena_slots;
  dict["wait_sampler_ns"] = stats.wait.sampler_ns;
  dict["wait_source_ns"] = stats.wait.source_ns;
  dict["wait_compute_ns"] = stats.wait.compute_ns;
  dict["wait_python_ns"] = stats.wait.python_ns;
  dict["wait_queue_ns"] = stats.wait.queue_ns;
  dict["wait_network_ns"] = stats.wait.network_ns;
  dict["wait_copy_ns"] = stats.wait.copy_ns;
  dict["idle_ns"] = stats.idle_ns;
  dict["idle_known"] = stats.idle_known;
  dict["hit_samples"] = stats.hit_samples;
  dict["miss_samples"] = stats.miss_samples;
  dict["hit_cpu_ns"] = stats.hit_cpu_ns;
  dict["miss_cpu_ns"] = stats.miss_cpu_ns;
  dict["source_bytes"] = stats.source_bytes;
  dict["source_ns"] = stats.source_ns;
  dict["compute_ns"] = stats.compute_ns;
  dict["python_ns"] = stats.python_ns;
  dict["queue_ns"] = stats.queue_ns;
  return dict;
}

}  // namespace headrace::python
