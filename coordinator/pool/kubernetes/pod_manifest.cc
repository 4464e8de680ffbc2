#include "coordinator/pool/kubernetes/pod_manifest.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>

#include "base/hash.h"
#include "base/plain_text.h"
#include "coordinator/pool/kubernetes/pod_seen.h"

namespace headrace::coordinator {
namespace {

using Manifest =
    nlohmann::json;  // whose references outlive insertions, unlike those of ordered_json

constexpr char kKeysPath[] = "/etc/headrace/keys";
constexpr char kKeysVolume[] = "headrace-keys";
constexpr char kTmpVolume[] = "headrace-tmp";
constexpr std::size_t kMostPrefix =
    57;  // a Pod's name is its host name too: 63, with five drawn letters

bool IsLabelChar(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

// Names of Pods are in lower case.
std::string NamePrefix(const std::string& pool) {
  std::string prefix;
  for (const char c : pool.substr(0, kMostPrefix)) {
    const bool upper = c >= 'A' && c <= 'Z';
    const bool plain = (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
    prefix += upper ? static_cast<char>(c - 'A' + 'a') : plain ? c : '-';
  }
  return prefix + "-";
}

// Sets what the template does not say.
void Default(Manifest& object, const char* name, Manifest value) {
  if (!object.contains(name)) object[name] = std::move(value);
}

// Members of `object` that are to be objects or lists, so that more can be put into them.
Status CheckKinds(const Manifest& object, std::initializer_list<const char*> objects,
                  std::initializer_list<const char*> lists) {
  for (const char* name : objects) {
    if (object.contains(name) && !object[name].is_object()) {
      return InvalidArgument(std::string("the Pod template: ") + name + " is no object");
    }
  }
  for (const char* name : lists) {
    if (object.contains(name) && !object[name].is_array()) {
      return InvalidArgument(std::string("the Pod template: ") + name + " is no list");
    }
  }
  return Status::Ok();
}

// A Pod of the parts that its author may say.
Result<Manifest> ReadTemplate(const std::string& text) {
  Manifest pod = Manifest::object();
  pod["apiVersion"] = "v1";
  pod["kind"] = "Pod";
  pod["metadata"] = Manifest::object();
  pod["spec"] = Manifest::object();
  if (text.empty()) return pod;
  const Manifest given = Manifest::parse(text, nullptr, false);
  if (!given.is_object()) return InvalidArgument("the Pod template is no JSON object");
  HR_RETURN_IF_ERROR(CheckKinds(given, {"metadata", "spec"}, {}));
  for (const char* part : {"metadata", "spec"}) {
    if (given.contains(part)) pod[part] = given[part];
  }
  HR_RETURN_IF_ERROR(CheckKinds(pod["metadata"], {"labels", "annotations"}, {"ownerReferences"}));
  HR_RETURN_IF_ERROR(
      CheckKinds(pod["spec"], {"nodeSelector"}, {"containers", "tolerations", "volumes"}));
  return pod;
}

Manifest& WorkerContainer(Manifest& spec) {
  Default(spec, "containers", Manifest::array());
  Manifest& containers = spec["containers"];
  if (containers.empty()) containers.push_back({{"name", "worker"}});
  for (Manifest& each : containers) {
    if (each.is_object() && each.value("name", Manifest()) == "worker") return each;
  }
  return containers.front();
}

void SetResources(Manifest& container, const PodWishes& wishes) {
  Default(container, "resources", Manifest::object());
  Manifest& resources = container["resources"];
  const std::string memory = std::to_string(wishes.memory_bytes);
  const std::string most_memory = std::to_string(wishes.most_memory_bytes);
  resources["requests"]["cpu"] = std::to_string(wishes.cores);
  resources["requests"]["memory"] = memory;
  resources["limits"]["cpu"] = std::to_string(wishes.most_cores);
  resources["limits"]["memory"] = most_memory;
}

void MountKeys(Manifest& spec, Manifest& container, const std::string& secret) {
  spec["volumes"].push_back(
      {{"name", kKeysVolume}, {"secret", {{"secretName", secret}, {"defaultMode", 0440}}}});
  container["volumeMounts"].push_back(
      {{"name", kKeysVolume}, {"mountPath", kKeysPath}, {"readOnly", true}});
  container["env"].push_back({{"name", "HEADRACE_KEYS"}, {"value", kKeysPath}});
}

// What a worker does not need it does not get; a template that says otherwise is obeyed.
void Restrict(Manifest& spec, Manifest& container) {
  Default(spec, "automountServiceAccountToken", false);
  // Keys of a Secret belong to root and this group.
  Default(spec, "securityContext",
          {{"runAsNonRoot", true},
           {"runAsUser", 1000},
           {"runAsGroup", 1000},
           {"fsGroup", 1000},
           {"seccompProfile", {{"type", "RuntimeDefault"}}}});
  if (!container.contains("securityContext")) {
    container["securityContext"] = {{"allowPrivilegeEscalation", false},
                                    {"readOnlyRootFilesystem", true},
                                    {"capabilities", {{"drop", Manifest::array({"ALL"})}}}};
    spec["volumes"].push_back({{"name", kTmpVolume}, {"emptyDir", Manifest::object()}});
    container["volumeMounts"].push_back({{"name", kTmpVolume}, {"mountPath", "/tmp"}});
  }
}

void SetArguments(Manifest& container, const PodWishes& wishes,
                  const std::vector<std::string>& command) {
  Manifest words = Manifest::array();
  for (std::size_t i = 1; i < command.size(); ++i) {
    // "$(NAME)" in an argument is a variable's value; "$$(NAME)" are these words.
    std::string word = command[i];
    for (std::size_t at = word.find("$("); at != std::string::npos; at = word.find("$(", at + 3)) {
      word.insert(at, 1, '$');
    }
    words.push_back(word);
  }
  const auto add = [&](const char* option, std::string value) {
    words.push_back(option);
    words.push_back(std::move(value));
  };
  add("--threads", std::to_string(wishes.cores));
  add("--cache", std::to_string(wishes.cache_bytes));
  add("--memory", std::to_string(wishes.most_memory_bytes - wishes.most_memory_bytes / 16));
  add("--pool-member", "$(POD_NAME)");
  container["args"] = std::move(words);
  if (!wishes.program.empty()) container["command"] = Manifest::array({wishes.program});
}

}  // namespace

std::string PoolLabel(const std::string& pool) {
  constexpr std::size_t kMost = 63;
  std::string label;
  for (const char c : pool) label += IsLabelChar(c) ? c : '-';
  if (label.size() > kMost) {
    label.resize(kMost - 17);
    label += '-';
    label += HexText(HashBytes(AsBytes(pool)));
  }
  // It begins and ends with a letter or digit.
  const auto is_end = [](char c) { return c == '-' || c == '_' || c == '.'; };
  if (!label.empty() && is_end(label.front())) label.front() = 'h';
  if (!label.empty() && is_end(label.back())) label.back() = 'e';
  return label;
}

Result<std::string> WorkerPod(const PodWishes& wishes, const PodOrigin& origin,
                              const std::vector<std::string>& command,
                              const std::optional<PodOwner>& owner, std::int64_t start) {
  HR_TRY(Manifest pod, ReadTemplate(wishes.pod_template));
  Manifest& metadata = pod["metadata"];
  metadata.erase("name");
  metadata["generateName"] = NamePrefix(origin.pool);
  for (const auto& [name, value] : wishes.labels) metadata["labels"][name] = value;
  metadata["labels"][kPoolLabel] = origin.pool;
  metadata["labels"][kEpochLabel] = std::to_string(origin.epoch);
  metadata["labels"][kStartLabel] = std::to_string(start);
  for (const auto& [name, value] : wishes.annotations) metadata["annotations"][name] = value;
  if (owner) {
    metadata["ownerReferences"].push_back({{"apiVersion", owner->api_version},
                                           {"kind", owner->kind},
                                           {"name", owner->name},
                                           {"uid", owner->uid}});
  }

  Manifest& spec = pod["spec"];
  spec["restartPolicy"] = "Never";  // a replacement is the coordinator's
  spec["terminationGracePeriodSeconds"] = wishes.grace_s;
  const auto set = [](Manifest& object, const char* name, const std::string& value) {
    if (!value.empty()) object[name] = value;
  };
  set(spec, "serviceAccountName", wishes.service_account);
  set(spec, "priorityClassName", wishes.priority_class);
  for (const auto& [name, value] : wishes.node_selector) spec["nodeSelector"][name] = value;
  for (const PodToleration& each : wishes.tolerations) {
    Manifest toleration = {{"key", each.key},
                           {"operator", each.value.empty() ? "Exists" : "Equal"}};
    set(toleration, "value", each.value);
    set(toleration, "effect", each.effect);
    spec["tolerations"].push_back(std::move(toleration));
  }
  Manifest& container = WorkerContainer(spec);
  if (!container.is_object()) return InvalidArgument("the Pod template: a container is no object");
  HR_RETURN_IF_ERROR(CheckKinds(container, {"resources"}, {"env", "volumeMounts"}));
  if (container.contains("resources")) {
    HR_RETURN_IF_ERROR(CheckKinds(container["resources"], {"requests", "limits"}, {}));
  }
  Default(container, "name", "worker");
  set(container, "image", wishes.image);
  if (!container.contains("image")) {
    return InvalidArgument("the kubernetes pool needs --kubernetes-image, or a template with one");
  }
  SetArguments(container, wishes, command);
  container["env"].push_back(
      {{"name", "POD_NAME"}, {"valueFrom", {{"fieldRef", {{"fieldPath", "metadata.name"}}}}}});
  SetResources(container, wishes);
  // So that what a worker said last before it failed is in the Pod's status.
  Default(container, "terminationMessagePolicy", "FallbackToLogsOnError");
  if (!wishes.keys_secret.empty()) MountKeys(spec, container, wishes.keys_secret);
  Restrict(spec, container);
  return pod.dump(-1, ' ', false, Manifest::error_handler_t::replace);
}

Result<TextPairs> ReadPairs(std::string_view text, std::string_view option) {
  TextPairs pairs;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    const std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t equals = one.find('=');
    if (equals == 0 || equals == std::string_view::npos) {
      return InvalidArgument(std::string(option) + " is NAME=VALUE,NAME=VALUE");
    }
    pairs.emplace_back(one.substr(0, equals), one.substr(equals + 1));
  }
  return pairs;
}

Result<std::vector<PodToleration>> ReadTolerations(std::string_view text) {
  std::vector<PodToleration> tolerations;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(','), text.size());
    std::string_view one = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    PodToleration toleration;
    if (const std::size_t colon = one.rfind(':'); colon != std::string_view::npos) {
      toleration.effect = one.substr(colon + 1);
      one = one.substr(0, colon);
      const bool known = toleration.effect == "NoSchedule" || toleration.effect == "NoExecute" ||
                         toleration.effect == "PreferNoSchedule";
      if (!known) one = "";
    }
    const std::size_t equals = std::min(one.find('='), one.size());
    toleration.key = one.substr(0, equals);
    toleration.value = one.substr(std::min(equals + 1, one.size()));
    if (toleration.key.empty()) {
      return InvalidArgument(
          "--kubernetes-tolerations is KEY[=VALUE][:NoSchedule|NoExecute|PreferNoSchedule],...");
    }
    tolerations.push_back(std::move(toleration));
  }
  return tolerations;
}

}  // namespace headrace::coordinator
