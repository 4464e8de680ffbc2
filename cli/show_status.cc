#include "cli/show_status.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/show_objects.h"
#include "web/frames.h"

namespace headrace::cli {
namespace {

using OrderedJson = nlohmann::ordered_json;

std::string OneLine(const OrderedJson& json) {
  return json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

OrderedJson PoolsObject(const web::PoolState& pool, const std::vector<wire::PoolStatus>& each_of) {
  OrderedJson reasons = OrderedJson::array();
  for (const web::PoolState::Reason& each : pool.reasons) {
    reasons.push_back({{"text", each.text}, {"members", each.members}});
  }
  OrderedJson pools = OrderedJson::array();
  for (const wire::PoolStatus& each : each_of) pools.push_back(PoolObject(each));
  return {{"name", pool.name},
          {"least", pool.least},
          {"most", pool.most},
          {"wanted", pool.wanted},
          {"queued", pool.queued},
          {"starting", pool.starting},
          {"running", pool.running},
          {"waiting", pool.waiting},
          {"draining", pool.draining},
          {"lost", pool.lost},
          {"cores", pool.cores},
          {"core_price", pool.core_price},
          {"reasons", std::move(reasons)},
          {"pools", std::move(pools)}};
}

}  // namespace

std::string StatusJson(const web::PageState& state) {
  OrderedJson all = {{"format", web::FrameMaker::kFormat}};
  all.update(ClusterObject(state.cluster));
  all["policy"] = state.policy;
  all["pool"] = PoolsObject(state.pool, state.cluster.pools);
  OrderedJson jobs = OrderedJson::array(), workers = OrderedJson::array(),
              datasets = OrderedJson::array();
  for (const wire::JobStatus& each : state.cluster.jobs) jobs.push_back(JobObject(each));
  for (const wire::WorkerStatus& each : state.cluster.workers) {
    workers.push_back(WorkerObject(each));
  }
  for (const wire::DatasetStatus& each : state.cluster.datasets) {
    datasets.push_back(DatasetObject(each));
  }
  all["jobs"] = std::move(jobs);
  all["workers"] = std::move(workers);
  all["datasets"] = std::move(datasets);
  return OneLine(all) + "\n";
}

std::string JobObjectJson(const web::PageState& state, JobId id) {
  const auto found = std::ranges::find(state.cluster.jobs, id, &wire::JobStatus::job);
  return found == state.cluster.jobs.end() ? "" : OneLine(JobObject(*found));
}

std::string WorkerObjectJson(const web::PageState& state, WorkerId id) {
  const auto found = std::ranges::find(
      state.cluster.workers, id, [](const wire::WorkerStatus& each) { return each.info.worker; });
  return found == state.cluster.workers.end() ? "" : OneLine(WorkerObject(*found));
}

}  // namespace headrace::cli
