#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "base/plain_text.h"
#include "cli/dataset_orders.h"
#include "cli/show.h"
#include "cli/show_objects.h"
#include "cli/table.h"
#include "cli/text.h"

// The tables and the JSON of `headrace cache` and `headrace datasets`.
namespace headrace::cli {
namespace {

using Json = nlohmann::ordered_json;

std::string Dump(const wire::ClusterStatus& now, const char* name, Json list) {
  const Json all = {{"version", now.version}, {"wall_ms", now.wall_ms}, {name, std::move(list)}};
  return all.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::string Share(double share) { return Format("%.0f%%", 100 * share); }

std::string HitsText(std::uint64_t hits, std::uint64_t misses) {
  const double reads = static_cast<double>(hits) + static_cast<double>(misses);
  return reads > 0 ? Share(static_cast<double>(hits) / reads) : "-";
}

// One tier of a worker: its budget, and what is in it.
struct Tier {
  wire::TierUse use;
  std::uint64_t budget = 0;
};
std::vector<Tier> TiersOf(const wire::WorkerStatus& worker) {
  std::vector<Tier> tiers;
  for (const wire::TierBytes& budget : worker.info.tiers) {
    const auto use = std::ranges::find(worker.last.tiers, budget.tier, &wire::TierUse::tier);
    tiers.push_back(
        {use == worker.last.tiers.end() ? wire::TierUse{.tier = budget.tier} : *use, budget.bytes});
  }
  return tiers;
}

std::uint64_t QuotasOf(const wire::ClusterStatus& now, WorkerId worker) {
  std::uint64_t sum = 0;
  for (const wire::DatasetStatus& dataset : now.datasets) {
    for (const wire::DatasetPart& part : dataset.parts) {
      if (part.worker == worker) sum += part.quota_bytes;
    }
  }
  return sum;
}

std::string JobIds(const wire::DatasetStatus& dataset) {
  std::string text;
  for (const JobId job : dataset.jobs) {
    if (!text.empty()) text += ',';
    text += std::to_string(job.value);
  }
  return text;
}

std::uint64_t CachedBytes(const wire::DatasetStatus& dataset) {
  std::uint64_t sum = 0;
  for (const wire::DatasetPart& part : dataset.parts) sum += part.bytes;
  return sum;
}
std::uint64_t QuotaBytes(const wire::DatasetStatus& dataset) {
  std::uint64_t sum = 0;
  for (const wire::DatasetPart& part : dataset.parts) sum += part.quota_bytes;
  return sum;
}

std::string PinText(const wire::DatasetStatus& dataset) {
  if (!dataset.pinned) return "-";
  return dataset.pinned_bytes > 0 ? BytesText(dataset.pinned_bytes) : "all";
}
std::string PhaseText(const wire::DatasetStatus& dataset) {
  if (dataset.dropping > 0) return "dropping";
  return Plain(dataset.phase) + (dataset.warm ? ", warm" : "");
}

std::string ReplicasText(const wire::DatasetStatus& dataset) {
  return dataset.replica_bytes > 0 ? BytesText(dataset.replica_bytes) : "-";
}

std::string TwiceText(const wire::DatasetStatus& dataset) {
  if (dataset.sampled_entries == 0) return "-";
  const std::string share = Share(dataset.duplicate_share);
  return dataset.duplicate_share_error > 0 ? share + "+-" + Share(dataset.duplicate_share_error)
                                           : share;
}

}  // namespace

std::string CacheTable(const wire::ClusterStatus& now) {
  Table tiers({"WORKER", "HOST", "TIER", "SIZE", "USED", "GRANTED", "ENTRIES", "HITS"});
  bool any = false;
  for (const wire::WorkerStatus& worker : now.workers) {
    bool first = true;  // quotas are of all tiers together
    for (const Tier& tier : TiersOf(worker)) {
      any = true;
      tiers.Add({std::to_string(worker.info.worker.value), Plain(worker.info.host.hostname),
                 Plain(tier.use.tier), BytesText(tier.budget), BytesText(tier.use.bytes),
                 first ? BytesText(QuotasOf(now, worker.info.worker)) : "",
                 std::to_string(tier.use.entries), HitsText(tier.use.hits, tier.use.misses)});
      first = false;
    }
  }
  if (!any) return "no caches\n";
  Table parts({"WORKER", "DATA SET", "FORM", "QUOTA", "CACHED", "ENTRIES", "HITS", "JOBS"});
  bool cached = false;
  for (const wire::DatasetStatus& dataset : now.datasets) {
    for (const wire::DatasetPart& part : dataset.parts) {
      cached = true;
      parts.Add({std::to_string(part.worker.value), Plain(dataset.name), Plain(dataset.form),
                 BytesText(part.quota_bytes), BytesText(part.bytes), std::to_string(part.entries),
                 HitsText(part.hits, part.misses), JobIds(dataset)});
    }
  }
  return tiers.Text() + (cached ? "\n" + parts.Text() : "");
}

std::string DatasetsTable(const wire::ClusterStatus& now) {
  if (now.datasets.empty()) return "no data sets\n";
  Table table({"DATA SET", "SAMPLES", "SIZE", "CACHED", "QUOTA", "PINNED", "FORM", "PHASE", "HITS",
               "LATER", "TWICE", "REPLICAS", "JOBS"});
  for (const wire::DatasetStatus& dataset : now.datasets) {
    table.Add({Plain(dataset.name), std::to_string(dataset.rows), BytesText(dataset.bytes),
               BytesText(CachedBytes(dataset)), BytesText(QuotaBytes(dataset)), PinText(dataset),
               Plain(dataset.form), PhaseText(dataset), Share(dataset.hit_share),
               Share(std::max(dataset.hit_share, dataset.hit_when_full)), TwiceText(dataset),
               ReplicasText(dataset), JobIds(dataset)});
  }
  return table.Text();
}

Json DatasetObject(const wire::DatasetStatus& dataset) {
  Json jobs = Json::array();
  for (const JobId job : dataset.jobs) jobs.push_back(job.value);
  return {{"dataset", HexText(dataset.dataset)},
          {"name", dataset.name},
          {"samples", dataset.rows},
          {"bytes", dataset.bytes},
          {"cached_bytes", CachedBytes(dataset)},
          {"quota_bytes", QuotaBytes(dataset)},
          {"tenant", dataset.tenant},
          {"pinned", dataset.pinned},
          {"pinned_bytes", dataset.pinned_bytes},
          {"warm", dataset.warm},
          {"workers_to_drop_it", dataset.dropping},
          {"form", dataset.form},
          {"phase", dataset.phase},
          {"hit_share", dataset.hit_share},
          {"hit_share_when_full", dataset.hit_when_full},
          {"duplicate_share", dataset.duplicate_share},
          {"duplicate_share_error", dataset.duplicate_share_error},
          {"sampled_entries", dataset.sampled_entries},
          {"replica_bytes", dataset.replica_bytes},
          {"replica_entries", dataset.replica_entries},
          {"replica_hits", dataset.replica_hits},
          {"jobs", std::move(jobs)}};
}

std::string CacheJson(const wire::ClusterStatus& now) {
  Json workers = Json::array();
  for (const wire::WorkerStatus& worker : now.workers) {
    Json tiers = Json::array();
    for (const Tier& tier : TiersOf(worker)) {
      tiers.push_back({{"tier", tier.use.tier},
                       {"budget_bytes", tier.budget},
                       {"bytes", tier.use.bytes},
                       {"entries", tier.use.entries},
                       {"hits", tier.use.hits},
                       {"misses", tier.use.misses}});
    }
    Json datasets = Json::array();
    for (const wire::DatasetStatus& dataset : now.datasets) {
      for (const wire::DatasetPart& part : dataset.parts) {
        if (part.worker != worker.info.worker) continue;
        datasets.push_back({{"name", dataset.name},
                            {"form", dataset.form},
                            {"quota_bytes", part.quota_bytes},
                            {"bytes", part.bytes},
                            {"entries", part.entries},
                            {"hits", part.hits},
                            {"misses", part.misses}});
      }
    }
    workers.push_back({{"worker", worker.info.worker.value},
                       {"hostname", worker.info.host.hostname},
                       {"granted_bytes", QuotasOf(now, worker.info.worker)},
                       {"tiers", std::move(tiers)},
                       {"datasets", std::move(datasets)}});
  }
  return Dump(now, "workers", std::move(workers));
}

std::string DatasetsJson(const wire::ClusterStatus& now) {
  Json datasets = Json::array();
  for (const wire::DatasetStatus& dataset : now.datasets)
    datasets.push_back(DatasetObject(dataset));
  return Dump(now, "datasets", std::move(datasets));
}

}  // namespace headrace::cli
