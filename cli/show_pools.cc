#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "cli/show.h"
#include "cli/show_objects.h"
#include "cli/table.h"
#include "cli/text.h"

namespace headrace::cli {
namespace {

using PoolJson = nlohmann::ordered_json;

bool StartsWorkers(const wire::PoolStatus& pool) { return pool.kind != "static"; }

std::string Price(double price) { return price > 0 ? Format("%g", price) : "-"; }

std::string HeldText(const wire::PoolStatus& pool) {
  std::string text = Plain(pool.state);
  if (pool.passed_over_seconds > 0) {
    text += ' ';
    text += AgeText(static_cast<std::int64_t>(1000 * std::min(pool.passed_over_seconds, 1e9)));
  }
  return text;
}

}  // namespace

std::string PoolsTable(const wire::ClusterStatus& now) {
  if (now.pools.empty()) return "no pools\n";
  Table table({"POOL", "KIND", "PREEMPTIBLE", "STATE", "READY", "STARTING", "DRAINING", "WANTED",
               "MOST", "CORES", "PRICE", "COST/H"});
  for (const wire::PoolStatus& pool : now.pools) {
    table.Add({Plain(pool.name), Plain(pool.kind), pool.preemptible ? "yes" : "no", HeldText(pool),
               std::to_string(pool.running), std::to_string(pool.coming()),
               std::to_string(pool.draining), std::to_string(pool.wanted_workers),
               pool.most > 0 ? std::to_string(pool.most) : "-", Format("%g", pool.cores),
               Price(pool.core_price), Price(pool.cost_per_hour)});
  }
  return table.Text();
}

std::string PoolLines(const wire::ClusterStatus& now) {
  std::string text;
  for (const wire::PoolStatus& pool : now.pools) {
    if (pool.trouble.ok()) continue;
    for (const std::string& part :
         {std::string("pool "), Plain(pool.name),
          std::string(pool.trouble_stands ? ": " : ": over: "), Plain(pool.what), std::string(", "),
          AgeText(pool.trouble_ms), std::string(" ago: "), Plain(pool.trouble.message())}) {
      text += part;
    }
    text += '\n';
    if (!pool.trouble_stands) continue;
    text += "  ";
    text += Plain(pool.remedy);
    text += '\n';
  }
  return text;
}

std::string PoolsLine(const wire::ClusterStatus& now) {
  std::string text;
  double cost = 0;
  const auto add = [&](const char* before, const std::string& what, const char* after = "") {
    text += before;
    text += what;
    text += after;
  };
  for (const wire::PoolStatus& pool : now.pools) {
    if (!StartsWorkers(pool)) continue;
    add(text.empty() ? "pools: " : "; ", Plain(pool.name));
    add(" ", std::to_string(pool.running), " ready");
    if (pool.coming() > 0) add(", ", std::to_string(pool.coming()), " starting");
    if (pool.state != "usable") add(", ", HeldText(pool));
    if (pool.trouble_stands) add(", ", Plain(pool.what));
    cost += pool.cost_per_hour;
  }
  if (cost > 0) add("; ", Price(cost), " an hour");
  if (!text.empty()) text += '\n';
  return text;
}

PoolJson PoolObject(const wire::PoolStatus& pool) {
  PoolJson json = {{"name", pool.name},
                   {"kind", pool.kind},
                   {"state", pool.state},
                   {"preemptible", pool.preemptible},
                   {"most", pool.most}};
  wire::PoolStatus::EachMetric(
      [&](const Metric& metric, auto member) { json[ShownName(metric)] = pool.*member; });
  json["trouble"] = nullptr;
  if (!pool.trouble.ok()) {
    json["trouble"] = {{"kind", wire::TroubleWord(pool.trouble)},
                       {"text", pool.trouble.message()},
                       {"what", pool.what},
                       {"remedy", pool.remedy},
                       {"seconds", static_cast<double>(pool.trouble_ms) / 1000},
                       {"stands", pool.trouble_stands}};
  }
  return json;
}

std::string PoolsJson(const wire::ClusterStatus& now) {
  PoolJson pools = PoolJson::array();
  for (const wire::PoolStatus& pool : now.pools) pools.push_back(PoolObject(pool));
  PoolJson all = ClusterObject(now);
  all["pools"] = std::move(pools);
  return all.dump(2, ' ', false, PoolJson::error_handler_t::replace) + "\n";
}

}  // namespace headrace::cli
