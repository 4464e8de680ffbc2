#include "coordinator/pool/kubernetes/pod_seen.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>

#include "base/plain_text.h"

namespace headrace::coordinator {
namespace {

using PodJson = nlohmann::json;

constexpr std::size_t kMostReasonBytes = 300;

PodJson ParseJson(std::string_view text) {
  return PodJson::parse(text.begin(), text.end(), nullptr, false);
}

// A member that there is not is null, and so are the members of what is no object.
const PodJson& At(const PodJson& json, const char* name) {
  static const PodJson& none = *new PodJson;
  if (!json.is_object()) return none;
  const auto found = json.find(name);
  return found == json.end() ? none : *found;
}

std::string TextAt(const PodJson& json, const char* name) {
  const PodJson& value = At(json, name);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::int64_t NumberLabel(const PodJson& labels, const char* name) {
  const std::string text = TextAt(labels, name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() && value > 0 ? value : 0;
}

std::string Joined(const std::string& reason, const std::string& message) {
  if (message.empty() || message == reason) return reason;
  return reason.empty() ? message : reason + ": " + message;
}

PodSeen::Phase ReadPhase(const std::string& word) {
  if (word == "Pending" || word.empty()) return PodSeen::Phase::kPending;
  if (word == "Succeeded" || word == "Failed") return PodSeen::Phase::kEnded;
  return PodSeen::Phase::kRunning;
}

// Why no node has it, or why its container does not start.
std::string WhyPending(const PodJson& status) {
  for (const PodJson& container : At(status, "containerStatuses")) {
    const PodJson& waiting = At(At(container, "state"), "waiting");
    if (const std::string reason = TextAt(waiting, "reason"); !reason.empty()) {
      return Joined(reason, TextAt(waiting, "message"));
    }
  }
  for (const PodJson& condition : At(status, "conditions")) {
    if (TextAt(condition, "type") != "PodScheduled" || TextAt(condition, "status") == "True") {
      continue;
    }
    return Joined(TextAt(condition, "reason"), TextAt(condition, "message"));
  }
  return Joined(TextAt(status, "reason"), TextAt(status, "message"));
}

// The words of kubelets and schedulers. Source: pkg/kubelet/images/types.go, pkg/kubelet/container/sync_result.go
// and core/v1 of Kubernetes.
Detail TroubleOf(const std::string& reason) {
  const std::string word = reason.substr(0, reason.find(':'));
  const auto is = [&](std::initializer_list<std::string_view> words) {
    return std::ranges::find(words, word) != words.end();
  };
  if (is({"ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull",
          "ImageInspectError", "RegistryUnavailable", "SignatureValidationFailed"})) {
    return Detail::kNoImage;
  }
  if (is({"CreateContainerConfigError", "CreateContainerError", "RunContainerError"})) {
    return Detail::kWorkersFail;
  }
  return is({"Unschedulable", "SchedulingGated"}) ? Detail::kNoRoom : Detail::kNone;
}

std::string HowEnded(const PodJson& status) {
  std::string how = Joined(TextAt(status, "reason"), TextAt(status, "message"));
  for (const PodJson& container : At(status, "containerStatuses")) {
    const PodJson& ended = At(At(container, "state"), "terminated");
    const PodJson& code = At(ended, "exitCode");
    if (!code.is_number_integer()) continue;
    if (!how.empty()) how += "; ";
    how += TextAt(ended, "reason") + ", exit code " + std::to_string(code.get<std::int64_t>());
    if (const std::string last = TextAt(ended, "message"); !last.empty()) how += ": " + last;
    break;
  }
  return how;
}

Result<PodSeen> PodOf(const PodJson& json) {
  const PodJson& metadata = At(json, "metadata");
  const PodJson& status = At(json, "status");
  PodSeen pod;
  pod.name = PlainText(TextAt(metadata, "name"), kMostNameBytes);
  if (pod.name.empty()) return Unavailable("Kubernetes answers a Pod without a name");
  pod.uid = TextAt(metadata, "uid");
  pod.deleting = !TextAt(metadata, "deletionTimestamp").empty();
  pod.node = PlainText(TextAt(At(json, "spec"), "nodeName"), kMostNameBytes);
  pod.phase = ReadPhase(TextAt(status, "phase"));
  if (pod.phase != PodSeen::Phase::kRunning) {
    const bool waits = pod.phase == PodSeen::Phase::kPending;
    pod.reason = PlainText(waits ? WhyPending(status) : HowEnded(status), kMostReasonBytes);
    if (waits) pod.why = TroubleOf(pod.reason);
  }
  const PodJson& labels = At(metadata, "labels");
  pod.epoch = NumberLabel(labels, kEpochLabel);
  pod.start = NumberLabel(labels, kStartLabel);
  return pod;
}

}  // namespace

Result<PodSeen> ReadPod(std::string_view json) { return PodOf(ParseJson(json)); }

Result<PodListing> ReadPodList(std::string_view json) {
  const PodJson list = ParseJson(json);
  const PodJson& items = At(list, "items");
  PodListing listing;
  listing.version = TextAt(At(list, "metadata"), "resourceVersion");
  // An empty list is [] or null, as Go writes it.
  const bool is_list = list.is_object() && (items.is_array() || items.is_null());
  if (!is_list || listing.version.empty()) {
    return Unavailable("Kubernetes answers no list of Pods");
  }
  for (const PodJson& item : items) {
    HR_TRY(PodSeen pod, PodOf(item));
    listing.pods.push_back(std::move(pod));
  }
  return listing;
}

Result<PodEvent> ReadPodEvent(std::string_view line) {
  const PodJson json = ParseJson(line);
  const std::string type = TextAt(json, "type");
  const PodJson& object = At(json, "object");
  if (!object.is_object() || type.empty()) {
    return Unavailable("Kubernetes answers no event of a watch");
  }
  PodEvent event;
  if (type == "ERROR") {
    const PodJson& code = At(object, "code");
    event.kind = code.is_number_integer() && code.get<std::int64_t>() == 410
                     ? PodEvent::Kind::kExpired
                     : PodEvent::Kind::kError;
    event.message = PlainText(TextAt(object, "message"), kMostReasonBytes);
    return event;
  }
  event.version = TextAt(At(object, "metadata"), "resourceVersion");
  if (type == "BOOKMARK") {
    event.kind = PodEvent::Kind::kBookmark;
    return event;
  }
  HR_TRY(event.pod, PodOf(object));
  if (type == "DELETED") {
    event.kind = PodEvent::Kind::kGone;
  } else if (type == "ADDED" || type == "MODIFIED") {
    event.kind = PodEvent::Kind::kSeen;
  } else {
    event.message = "an event of the kind " + PlainText(type, kMostNameBytes);
  }
  return event;
}

bool LineCutter::Add(std::string_view bytes) {
  waiting_.erase(0, at_);
  at_ = 0;
  waiting_.append(bytes);
  return waiting_.size() <= kMostBytes || waiting_.find('\n') < kMostBytes;
}

bool LineCutter::Next(std::string& line) {
  const std::size_t end = waiting_.find('\n', at_);
  if (end == std::string::npos) return false;
  line.assign(waiting_, at_, end - at_);
  at_ = end + 1;
  return true;
}

Result<std::string> ReadUid(std::string_view json) {
  std::string uid = TextAt(At(ParseJson(json), "metadata"), "uid");
  if (uid.empty()) return Unavailable("Kubernetes answers an object without a uid");
  return uid;
}

}  // namespace headrace::coordinator
