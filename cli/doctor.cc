#include "cli/doctor.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/plain_text.h"
#include "cli/text.h"
#include "net/exposure.h"

namespace headrace::cli {
namespace {

using Level = Finding::Level;

constexpr std::uint64_t kFewFiles = 4096;  // fewer than a coordinator of some hundred peers needs

std::string Milliseconds(double seconds) { return Format("%.1f ms", 1e3 * seconds); }

std::string LevelText(Level level) {
  return level == Level::kFine ? "ok" : level == Level::kWarning ? "warning" : "problem";
}

Finding OfCoordinator(const Observed& seen) {
  if (!seen.coordinator.status.ok()) {
    const bool unknown = seen.coordinator.status.code() == Code::kNotFound;
    return {Level::kProblem, "coordinator: " + seen.coordinator.status.message(),
            unknown ? "use a name or an address that this host knows"
                    : "start it with `headrace coordinator --listen " + seen.address +
                          "`, or let this host through to it"};
  }
  if (!seen.status->ok()) {
    const Status& why = seen.status->status();
    const bool other = why.code() == Code::kOtherRelease;
    return {Level::kProblem, "coordinator: " + why.message(),
            other ? "install the same release on both hosts"
                  : "somebody listens there; give both the same --keys, made by `headrace keys`"};
  }
  const wire::ClusterStatus& status = **seen.status;
  if (status.version != seen.version) {
    return {Level::kWarning,
            "coordinator: release " + PlainText(status.version) + ", and this is " + seen.version,
            "install the same release on both hosts"};
  }
  return {Level::kFine,
          "coordinator: " + seen.address + ", reached in " + Milliseconds(seen.coordinator.seconds),
          ""};
}

Finding OfWorker(const Observed& seen, const wire::WorkerStatus& worker,
                 const std::vector<Reached>& tried) {
  const std::string name = "worker " + std::to_string(worker.info.worker.value) + " on " +
                           PlainText(worker.info.host.hostname);
  const bool here = worker.info.host.hostname == seen.host;
  if (worker.state != "ready") {
    return {Level::kWarning, name + " is " + PlainText(worker.state),
            worker.state == "lost" ? "look at its log" : ""};
  }
  if (worker.info.local && !here) {
    return {Level::kFine, name + ": serves the program that it was started for", ""};
  }
  const auto reached =
      std::ranges::find_if(tried, [](const Reached& one) { return one.status.ok(); });
  if (reached != tried.end()) {
    const std::string how =
        ": " + reached->address + ", reached in " + Milliseconds(reached->seconds);
    if (worker.info.version == seen.version) return {Level::kFine, name + how, ""};
    return {Level::kWarning,
            name + how + "; release " + PlainText(worker.info.version) + ", and this is " +
                seen.version,
            "install the same release on both hosts"};
  }
  const bool loopback = std::ranges::all_of(
      tried, [](const Reached& one) { return net::IsLocalEndpoint(one.address); });
  if (loopback && !here) {
    return {Level::kWarning, name + ": serves programs of its own host alone",
            "start it with --listen tcp://0.0.0.0:0 to have it serve this one"};
  }
  const Reached& last = tried.back();
  return {Level::kProblem, name + ": " + last.status.message(),
          last.status.code() == Code::kNotFound
              ? "start it with --advertise and an address that this host knows"
              : "let this host through to it; --listen tcp://0.0.0.0:PORT gives it a port of your "
                "choice"};
}

// nullopt: nobody starts workers there.
std::optional<Finding> OfPool(const wire::PoolStatus& pool) {
  if (pool.kind == "static") return std::nullopt;
  const std::string name = "pool " + PlainText(pool.name);
  const std::string has = std::to_string(pool.running) +
                          (pool.running == 1 ? " worker is ready" : " workers are ready") + ", " +
                          std::to_string(pool.wanted_workers) + " wanted";
  if (!pool.trouble_stands) return Finding{Level::kFine, name + ": " + has, ""};
  // It still gives workers, or has only to be waited for.
  const bool serves = pool.running > 0 || pool.trouble.detail() == Detail::kNoRoom;
  return Finding{
      serves ? Level::kWarning : Level::kProblem,
      name + ": " + PlainText(pool.what) + "; " + has + ": " + PlainText(pool.trouble.message()),
      PlainText(pool.remedy)};
}

Finding OfKubernetes(const Result<std::vector<std::string>>& missing) {
  if (!missing.ok()) {
    return {
        Level::kProblem, missing.status().message(),
        "give --kubernetes-server, --kubernetes-ca-file and --kubernetes-token-file, or run it in "
        "the coordinator's Pod"};
  }
  if (missing->empty()) {
    return {Level::kFine, "Kubernetes: this account may make workers as Pods", ""};
  }
  std::string verbs;
  for (const std::string& verb : *missing) verbs += (verbs.empty() ? "" : ", ") + verb;
  return {Level::kProblem, "Kubernetes: the Role of this account lacks on pods: " + verbs,
          "kubectl apply -f deploy/kubernetes/rbac.yaml, or have somebody give it these verbs"};
}

}  // namespace

std::vector<Finding> Diagnose(const Observed& seen) {
  std::vector<Finding> found;
  if (seen.open_files < kFewFiles) {
    found.push_back(
        {Level::kWarning,
         "this host: a process may have " + std::to_string(seen.open_files) + " files open",
         "ulimit -n 65536"});
  } else {
    found.push_back({Level::kFine, "this host: release " + seen.version, ""});
  }
  if (seen.missing_verbs) found.push_back(OfKubernetes(*seen.missing_verbs));
  if (seen.address.empty()) {
    found.push_back(
        {Level::kFine, "no coordinator is named: programs run with workers of their own here", ""});
    return found;
  }
  found.push_back(OfCoordinator(seen));
  if (!seen.status || !seen.status->ok()) return found;
  for (const wire::PoolStatus& pool : (*seen.status)->pools) {
    if (std::optional<Finding> of_pool = OfPool(pool)) found.push_back(std::move(*of_pool));
  }
  const std::vector<wire::WorkerStatus>& workers = (*seen.status)->workers;
  bool serves = false;
  for (std::size_t i = 0; i < workers.size(); ++i) {
    if (seen.workers[i].empty()) continue;
    found.push_back(OfWorker(seen, workers[i], seen.workers[i]));
    serves = serves || (workers[i].state == "ready" && !workers[i].info.local &&
                        std::ranges::any_of(seen.workers[i],
                                            [](const Reached& one) { return one.status.ok(); }));
  }
  if (!serves) {
    found.push_back({Level::kProblem, "no worker serves programs of this host",
                     "start some: `headrace worker --coordinator " + seen.address + "`"});
  }
  return found;
}

std::string FindingsText(const std::vector<Finding>& findings) {
  std::string text;
  for (const Finding& one : findings) {
    std::string level = LevelText(one.level);
    level.resize(9, ' ');
    text += level + one.text + "\n";
    if (!one.remedy.empty()) text += "         " + one.remedy + "\n";
  }
  return text;
}

std::string FindingsJson(const std::vector<Finding>& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& one : findings) {
    list.push_back({{"level", LevelText(one.level)}, {"text", one.text}, {"remedy", one.remedy}});
  }
  const nlohmann::ordered_json all = {{"findings", std::move(list)}};
  return all.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace headrace::cli
