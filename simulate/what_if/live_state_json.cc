#include <cmath>
#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "simulate/what_if/live_state.h"

// A state as text, and back.
namespace headrace::simulate {
namespace {

using coordinator::kUnlimited;
using Json = nlohmann::ordered_json;

constexpr std::string_view kFormat = "headrace state 1";
constexpr double kMost = 1e30;
constexpr double kMostGpus = 1e6;

Json Limited(double value) { return std::isinf(value) ? Json() : Json(value); }

Json Write(const Cluster& cluster) {
  Json tenants = Json::array();
  for (const coordinator::Tenant& each : cluster.tenants) {
    tenants.push_back({{"name", each.name},
                       {"weight", each.weight},
                       {"quota_gpus", Limited(each.quota.gpus)},
                       {"quota_cores", Limited(each.quota.cores)},
                       {"quota_cache_bytes", Limited(each.quota.cache_bytes)},
                       {"quota_source_bytes_per_second", Limited(each.quota.source_rate)}});
  }
  return {{"gpus", cluster.gpus},
          {"cpu_per_gpu", cluster.cpu_per_gpu},
          {"extra_cores", cluster.extra_cores},
          {"cache_bytes", cluster.cache_bytes},
          {"source_bytes_per_second", Limited(cluster.source_rate)},
          {"cache_hosts", cluster.cache_hosts},
          {"link_bytes_per_second", Limited(cluster.link)},
          {"gpus_per_host", cluster.gpus_per_host},
          {"floor", cluster.floor ? Json(*cluster.floor) : Json()},
          {"shared_cache_first", cluster.shared_cache_first},
          {"tenants", std::move(tenants)}};
}

Json Write(const Job& job, const JobStart& start) {
  Json ramp = Json::array();
  for (const Ramp& each : job.ramp) {
    ramp.push_back({{"from_s", each.from_s}, {"factor", each.factor}});
  }
  return {{"job_id", job.id},
          {"model", job.model},
          {"tenant", job.tenant},
          {"priority", job.priority},
          {"gpus", job.gpus},
          {"arrival_s", job.arrival_s},
          {"iterations", Limited(job.iterations)},
          {"batch", job.batch},
          {"step_s", job.step_s},
          {"input_core_s", job.input_core_s},
          {"hit_core_s", job.hit_core_s},
          {"separable", job.separable},
          {"dataset", job.dataset < 0 ? Json() : Json(job.dataset)},
          {"sample_bytes", job.sample_bytes},
          {"entry_bytes", job.entry_bytes},
          {"sent_bytes", job.sent_bytes},
          {"ramp", std::move(ramp)},
          {"running", start.running},
          {"ended", start.ended},
          {"done_samples", start.done},
          {"start_s", start.start_s},
          {"run_s", start.run_s},
          {"useful_gpu_s", start.useful_gpu_s},
          {"preemptions", start.preemptions},
          {"restart_left_s", start.restart_left_s},
          {"unread_bytes", start.unread},
          {"cached_share", start.cached_share},
          {"granted_cores", start.cores},
          {"granted_source_bytes_per_second", Limited(start.source_rate)}};
}

// Reads the fields of one object. The first wrong one is kept; after it, nothing is read.
class Fields {
 public:
  Fields(std::string_view file, std::string where, const Json& json)
      : file_(file), where_(std::move(where)), json_(json) {
    if (!json.is_object()) Fail("", "an object");
  }
  void Number(const char* name, double& to, double least = 0, double most = kMost) {
    if (const Json* found = Find(name)) {
      const double value = found->is_number() ? found->get<double>() : std::nan("");
      if (!(value >= least && value <= most)) return Fail(name, "a number in its range");
      to = value;
    }
  }
  // Of what has no default.
  void Need(const char* name, const char* expected) {
    if (status_.ok() && !json_.contains(name)) Fail(name, expected);
  }
  // Of an amount for which null is without limit.
  void Limit(const char* name, double& to) {
    const auto at = json_.is_object() ? json_.find(name) : json_.end();
    if (at != json_.end() && at->is_null()) {
      to = kUnlimited;
    } else {
      Number(name, to);
    }
  }
  template <typename Whole>
  void Count(const char* name, Whole& to, double least, double most) {
    double value = static_cast<double>(to);
    Number(name, value, least, most);
    if (value != std::floor(value)) return Fail(name, "a whole number");
    to = static_cast<Whole>(value);
  }
  void Flag(const char* name, bool& to) {
    if (const Json* found = Find(name)) {
      if (!found->is_boolean()) return Fail(name, "true or false");
      to = found->get<bool>();
    }
  }
  void Text(const char* name, std::string& to) {
    if (const Json* found = Find(name)) {
      if (!found->is_string()) return Fail(name, "a text");
      to = found->get<std::string>();
    }
  }
  // Calls read(Fields&) for each object of a list.
  template <typename Read>
  void Each(const char* name, const Read& read) {
    const Json* found = Find(name);
    if (found == nullptr) return;
    if (!found->is_array()) return Fail(name, "a list");
    std::size_t at = 0;
    for (const Json& each : *found) {
      Fields fields(file_, where_ + name + "[" + std::to_string(at++) + "].", each);
      if (fields.status_.ok()) read(fields);
      if (!fields.status_.ok()) {
        status_ = fields.status_;
        return;
      }
    }
  }
  template <typename Read>
  void Object(const char* name, const Read& read) {
    const Json* found = Find(name);
    if (found == nullptr) return;
    Fields fields(file_, where_ + name + ".", *found);
    if (fields.status_.ok()) read(fields);
    if (!fields.status_.ok()) status_ = fields.status_;
  }
  void Fail(const std::string& name, const std::string& expected) {
    if (status_.ok()) {
      status_ =
          InvalidArgument(std::string(file_) + ": " + where_ + name + ": expected " + expected);
    }
  }
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  // nullptr: it is missing or null, or something before it was wrong.
  const Json* Find(const char* name) {
    if (!status_.ok()) return nullptr;
    const auto at = json_.find(name);
    return at == json_.end() || at->is_null() ? nullptr : &*at;
  }

  std::string_view file_;
  std::string where_;
  const Json& json_;
  Status status_;
};

void ReadCluster(Fields& from, Cluster& to) {
  from.Count("gpus", to.gpus, 1, kMostGpus);
  from.Number("cpu_per_gpu", to.cpu_per_gpu);
  from.Number("extra_cores", to.extra_cores);
  from.Number("cache_bytes", to.cache_bytes);
  from.Limit("source_bytes_per_second", to.source_rate);
  from.Count("cache_hosts", to.cache_hosts, 1, kMostGpus);
  from.Limit("link_bytes_per_second", to.link);
  from.Count("gpus_per_host", to.gpus_per_host, 1, kMostGpus);
  double floor = -1;
  from.Number("floor", floor, 0, 1);
  if (floor >= 0) to.floor = floor;
  from.Flag("shared_cache_first", to.shared_cache_first);
  from.Each("tenants", [&](Fields& each) {
    coordinator::Tenant& tenant = to.tenants.emplace_back();
    each.Text("name", tenant.name);
    each.Number("weight", tenant.weight, 1e-9);
    each.Limit("quota_gpus", tenant.quota.gpus);
    each.Limit("quota_cores", tenant.quota.cores);
    each.Limit("quota_cache_bytes", tenant.quota.cache_bytes);
    each.Limit("quota_source_bytes_per_second", tenant.quota.source_rate);
  });
}

void ReadJob(Fields& from, std::size_t datasets, Job& job, JobStart& start) {
  from.Text("job_id", job.id);
  from.Text("model", job.model);
  from.Text("tenant", job.tenant);
  from.Count("priority", job.priority, -2e9, 2e9);
  from.Count("gpus", job.gpus, 1, kMostGpus);
  from.Number("arrival_s", job.arrival_s, -kMost);
  from.Need("iterations", "a number, or null where it is not known");
  from.Limit("iterations", job.iterations);
  from.Number("batch", job.batch, 1e-9);
  from.Need("step_s", "a number in its range");
  from.Number("step_s", job.step_s, 1e-12);
  from.Number("input_core_s", job.input_core_s);
  from.Number("hit_core_s", job.hit_core_s);
  from.Flag("separable", job.separable);
  from.Count("dataset", job.dataset, -1, static_cast<double>(datasets) - 1);
  from.Number("sample_bytes", job.sample_bytes);
  from.Number("entry_bytes", job.entry_bytes);
  from.Number("sent_bytes", job.sent_bytes);
  from.Each("ramp", [&](Fields& each) {
    Ramp& ramp = job.ramp.emplace_back();
    each.Number("from_s", ramp.from_s);
    each.Number("factor", ramp.factor, 1e-6, 1e6);
  });
  from.Flag("running", start.running);
  from.Flag("ended", start.ended);
  from.Number("done_samples", start.done);
  from.Number("start_s", start.start_s, -kMost);
  from.Number("run_s", start.run_s);
  from.Number("useful_gpu_s", start.useful_gpu_s);
  from.Count("preemptions", start.preemptions, 0, 1e9);
  from.Number("restart_left_s", start.restart_left_s);
  from.Number("unread_bytes", start.unread);
  from.Number("cached_share", start.cached_share, 0, 1);
  from.Number("granted_cores", start.cores);
  from.Limit("granted_source_bytes_per_second", start.source_rate);
}

}  // namespace

std::string LiveStateJson(const LiveState& state) {
  const auto start_of = [&](std::size_t i) {
    return state.start.jobs.empty() ? JobStart{} : state.start.jobs[i];
  };
  Json datasets = Json::array(), jobs = Json::array(), workers = Json::array();
  for (std::size_t d = 0; d < state.trace.datasets.size(); ++d) {
    const Dataset& dataset = state.trace.datasets[d];
    const double cached = state.start.cached_bytes.empty() ? 0 : state.start.cached_bytes[d];
    datasets.push_back(
        {{"name", dataset.name}, {"bytes", dataset.bytes}, {"cached_bytes", cached}});
  }
  for (std::size_t i = 0; i < state.trace.jobs.size(); ++i) {
    jobs.push_back(Write(state.trace.jobs[i], start_of(i)));
  }
  for (const LiveWorker& each : state.workers) {
    workers.push_back({{"name", each.name},
                       {"cores", each.cores},
                       {"cache_bytes", each.cache_bytes},
                       {"link_bytes_per_second", each.link_bytes_per_second}});
  }
  const Json json = {{"format", kFormat},
                     {"time_s", state.start.time_s},
                     {"policy", state.policy},
                     {"cluster", Write(state.cluster)},
                     {"datasets", std::move(datasets)},
                     {"jobs", std::move(jobs)},
                     {"workers", std::move(workers)},
                     {"unmeasured_jobs", state.unmeasured}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

Result<LiveState> ReadLiveState(std::string_view file, std::string_view text) {
  const Json json = Json::parse(text, nullptr, false);
  Fields from(file, "", json);
  LiveState state;
  std::string format;
  from.Text("format", format);
  if (format != kFormat) from.Fail("format", "\"" + std::string(kFormat) + "\"");
  from.Number("time_s", state.start.time_s, -kMost);
  from.Text("policy", state.policy);
  from.Object("cluster", [&](Fields& each) { ReadCluster(each, state.cluster); });
  from.Each("datasets", [&](Fields& each) {
    Dataset& dataset = state.trace.datasets.emplace_back();
    double& cached = state.start.cached_bytes.emplace_back();
    each.Text("name", dataset.name);
    each.Need("bytes", "a number in its range");
    each.Number("bytes", dataset.bytes, 1);
    each.Number("cached_bytes", cached);
  });
  from.Each("jobs", [&](Fields& each) {
    Job& job = state.trace.jobs.emplace_back();
    JobStart& start = state.start.jobs.emplace_back();
    ReadJob(each, state.trace.datasets.size(), job, start);
    const std::size_t count = state.trace.jobs.size();
    if (count > 1 && state.trace.jobs[count - 2].arrival_s > job.arrival_s) {
      each.Fail("arrival_s", "jobs in order of arrival");
    }
    if (job.dataset >= 0 && job.entry_bytes <= 0) each.Fail("entry_bytes", "more than 0");
  });
  from.Each("workers", [&](Fields& each) {
    LiveWorker& worker = state.workers.emplace_back();
    each.Text("name", worker.name);
    each.Number("cores", worker.cores);
    each.Number("cache_bytes", worker.cache_bytes);
    each.Number("link_bytes_per_second", worker.link_bytes_per_second);
  });
  HR_RETURN_IF_ERROR(from.status());
  state.trace.format = "state";
  if (const auto left = json.find("unmeasured_jobs"); left != json.end() && left->is_array()) {
    for (const Json& each : *left) {
      if (each.is_string()) state.unmeasured.push_back(each.get<std::string>());
    }
  }
  return state;
}

LiveState WithoutEnded(const LiveState& state) {
  LiveState rest = state;
  rest.trace.jobs.clear();
  rest.start.jobs.clear();
  for (std::size_t i = 0; i < state.start.jobs.size(); ++i) {
    if (state.start.jobs[i].ended) continue;
    rest.trace.jobs.push_back(state.trace.jobs[i]);
    rest.start.jobs.push_back(state.start.jobs[i]);
  }
  return rest;
}

}  // namespace headrace::simulate
