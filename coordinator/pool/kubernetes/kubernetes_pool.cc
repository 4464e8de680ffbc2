#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <sstream>
#include <utility>

#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/kubernetes/pod_pool.h"
#include "coordinator/pool/kubernetes/scale_pool.h"

namespace headrace {
namespace coordinator {
namespace {

constexpr char kAtStopEnd[] = "end";
constexpr char kAtStopKeep[] = "keep";
constexpr std::uint64_t kMemoryOfOneCore = std::uint64_t{2} << 30;
constexpr std::int64_t kLeastGraceSeconds = 30;  // what a worker takes at most to leave in order

std::string EnvironmentVariable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

Result<std::string> ReadTemplateFile(const std::string& path) {
  if (path.empty()) return std::string();
  std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file) return NotFound("the Pod template " + path + " cannot be read");
  return text.str();
}

// "statefulset/NAME", "deployment/NAME", "VERSION/KIND/NAME/UID", "GROUP/VERSION/KIND/NAME/UID".
Result<std::optional<PodOwner>> ReadOwner(const std::string& text) {
  if (text.empty()) return std::optional<PodOwner>();
  std::vector<std::string> parts;
  std::istringstream words(text);
  for (std::string part; std::getline(words, part, '/');) parts.push_back(part);
  const bool is_whole = std::ranges::none_of(parts, &std::string::empty);
  if (is_whole && parts.size() == 2 && (parts[0] == "statefulset" || parts[0] == "deployment")) {
    const bool stateful = parts[0] == "statefulset";
    return std::optional(
        PodOwner{"apps/v1", stateful ? "StatefulSet" : "Deployment", parts[1], ""});
  }
  if (is_whole && parts.size() == 4) {
    return std::optional(PodOwner{parts[0], parts[1], parts[2], parts[3]});
  }
  if (is_whole && parts.size() == 5) {
    return std::optional(PodOwner{parts[0] + "/" + parts[1], parts[2], parts[3], parts[4]});
  }
  return InvalidArgument(
      "--kubernetes-owner is statefulset/NAME, deployment/NAME or VERSION/KIND/NAME/UID, not " +
      text);
}

Result<PodWishes> ReadWishes(const Settings& given) {
  PodWishes wishes;
  HR_TRY(wishes.pod_template, ReadTemplateFile(given.Text("template")));
  wishes.image = given.Text("image");
  wishes.program = given.Text("program");
  wishes.service_account = given.Text("service-account");
  wishes.priority_class = given.Text("priority-class");
  wishes.keys_secret = given.Text("keys-secret");
  HR_TRY(wishes.node_selector,
         ReadPairs(given.Text("node-selector"), "--kubernetes-node-selector"));
  HR_TRY(wishes.labels, ReadPairs(given.Text("labels"), "--kubernetes-labels"));
  HR_TRY(wishes.annotations, ReadPairs(given.Text("annotations"), "--kubernetes-annotations"));
  HR_TRY(wishes.tolerations, ReadTolerations(given.Text("tolerations")));
  wishes.cores = std::max<std::int64_t>(given.Count("cores"), 1);
  wishes.most_cores = std::max(given.Count("limit-cores"), wishes.cores);
  wishes.memory_bytes = given.Bytes("memory");
  if (wishes.memory_bytes == 0) {
    wishes.memory_bytes = static_cast<std::uint64_t>(wishes.cores) * kMemoryOfOneCore;
  }
  wishes.most_memory_bytes = std::max(given.Bytes("limit-memory"), wishes.memory_bytes);
  wishes.cache_bytes = given.Bytes("cache");
  if (wishes.cache_bytes >= wishes.most_memory_bytes) {
    return InvalidArgument("--kubernetes-cache is a part of --kubernetes-memory, and must be less");
  }
  wishes.grace_s = std::max(given.Count("grace-s"), kLeastGraceSeconds);
  return wishes;
}

Result<KubeAccess> FindAccess(const Settings& given) {
  return KubeAccess::Find({.server = given.Text("server"),
                           .ca_file = given.Text("ca-file"),
                           .token_file = given.Text("token-file"),
                           .name_space = given.Text("namespace")},
                          EnvironmentVariable);
}

Result<std::unique_ptr<Pool>> MakeKubernetesPool(net::Reactor& reactor, PoolOptions options,
                                                 PoolEvents events) {
  if (options.worker_command.empty()) {
    return InvalidArgument("the kubernetes pool needs the command line of a worker");
  }
  const Settings& given = options.settings;
  const std::string& at_stop = given.Text("at-stop");
  if (at_stop != kAtStopEnd && at_stop != kAtStopKeep) {
    return InvalidArgument("--kubernetes-at-stop is end or keep, not " + at_stop);
  }
  const Duration patience =
      std::chrono::seconds(std::max<std::int64_t>(given.Count("timeout-s"), 1));
  if (const std::string& scale = given.Text("scale"); !scale.empty()) {
    ScalePool::Rules rules;
    HR_TRY(rules.target, ScaleTarget::Read(scale));
    HR_TRY(rules.access, FindAccess(given));
    rules.cores = std::max<std::int64_t>(given.Count("cores"), 1);
    rules.patience = patience;
    rules.keep_at_stop = at_stop == kAtStopKeep;
    return std::unique_ptr<Pool>(std::make_unique<ScalePool>(reactor, std::move(options),
                                                             std::move(events), std::move(rules)));
  }
  PodPool::Rules rules;
  HR_TRY(rules.wishes, ReadWishes(given));
  HR_TRY(rules.owner, ReadOwner(given.Text("owner")));
  // What is wrong with the template is said at once.
  const Result<std::string> pod = WorkerPod(rules.wishes, {PoolLabel(options.name), options.epoch},
                                            options.worker_command, rules.owner, 1);
  HR_RETURN_IF_ERROR(pod.status());
  HR_TRY(rules.access, FindAccess(given));
  rules.patience = patience;
  rules.keep_at_stop = at_stop == kAtStopKeep;
  return std::unique_ptr<Pool>(
      std::make_unique<PodPool>(reactor, std::move(options), std::move(events), std::move(rules)));
}

std::vector<Setting> KubernetesSettings() {
  using enum Setting::Kind;
  return {
      {"image", kText, "", "image of a worker, with headrace as its entry point"},
      {"program", kText, "", "headrace in the image; empty: the image's entry point"},
      {"namespace", kText, "", "where Pods are made; empty: the coordinator's own"},
      {"cores", kCount, "1", "CPUs of a worker"},
      {"limit-cores", kCount, "0", "most CPUs that it may use; 0: the same"},
      {"memory", kBytes, "0", "memory of a worker, cache and all; 0: 2G for each core"},
      {"limit-memory", kBytes, "0", "memory beyond which it is killed; 0: the same"},
      {"cache", kBytes, "0", "memory cache of a worker"},
      {"keys-secret", kText, "", "Secret with the files `allow` and `worker.key`"},
      {"service-account", kText, "", "of workers; they need none, and get no token of it"},
      {"node-selector", kText, "", "nodes with these labels alone: NAME=VALUE,NAME=VALUE"},
      {"tolerations", kText, "", "taints that they bear: KEY=VALUE:NoSchedule,KEY"},
      {"labels", kText, "", "more labels, of a queue or quota say: NAME=VALUE,NAME=VALUE"},
      {"annotations", kText, "", "more annotations: NAME=VALUE,NAME=VALUE"},
      {"priority-class", kText, "", "how urgent they are to the scheduler"},
      {"grace-s", kCount, "60", "what a worker has between SIGTERM and its end; it takes 30 s"},
      {"template", kText, "", "file with a Pod as JSON, which all this is put into"},
      {"owner", kText, "", "workers go when it goes: statefulset/NAME, or VERSION/KIND/NAME/UID"},
      {"scale", kText, "", "make no Pods, but scale this: deployments/NAME or statefulsets/NAME"},
      {"server", kText, "", "the API server, https://HOST:PORT; empty: that of this Pod"},
      {"ca-file", kText, "",
       "certificates that it is trusted by; empty: the Pod's or the system's"},
      {"token-file", kText, "", "token of a service account, read for each request"},
      {"timeout-s", kCount, "30", "an answer that takes longer is not waited for"},
      {"at-stop", kText, kAtStopEnd,
       "what a coordinator that ends does with its workers: end or keep"},
  };
}

}  // namespace
}  // namespace coordinator

void RegisterPoolKubernetes(coordinator::PoolRegistry& registry) {
  registry.Register({.name = "kubernetes",
                     .summary = "Pods of a Kubernetes cluster",
                     .settings = coordinator::KubernetesSettings(),
                     .make = coordinator::MakeKubernetesPool});
}

}  // namespace headrace
