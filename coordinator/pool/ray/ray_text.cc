#include "coordinator/pool/ray/ray_text.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/plain_text.h"

namespace headrace::coordinator {
namespace {

using RayJson = nlohmann::ordered_json;

constexpr std::size_t kMostOfRaysWords = 600;

std::string RayLine(const RayJson& json) {
  return json.dump(-1, ' ', true, RayJson::error_handler_t::replace) + "\n";
}

std::string RayText(const nlohmann::json& json, const char* name) {
  const auto at = json.find(name);
  if (at == json.end() || !at->is_string()) return "";
  return PlainText(at->get<std::string>(), kMostOfRaysWords);
}

// The pairs of "A=1,B=2"; nothing: it is not such a text.
Result<std::vector<std::pair<std::string, std::string>>> RayPairs(std::string_view text,
                                                                  std::string_view option) {
  std::vector<std::pair<std::string, std::string>> pairs;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find(','));
    text.remove_prefix(std::min(part.size() + 1, text.size()));
    const std::size_t at = part.find('=');
    if (at == std::string_view::npos || at == 0 || at + 1 == part.size()) {
      return InvalidArgument(std::string(option) + " is NAME=VALUE,NAME=VALUE, not " +
                             PlainText(part, kMostNameBytes));
    }
    pairs.emplace_back(part.substr(0, at), part.substr(at + 1));
  }
  return pairs;
}

}  // namespace

std::string RaySettings(const RayWishes& wishes, const std::string& pool,
                        const std::vector<std::string>& command) {
  return RayLine({{"pool", pool},
                  {"address", wishes.address},
                  {"namespace", wishes.name_space},
                  {"cores", wishes.cores},
                  {"memory", wishes.memory_bytes},
                  {"resources", RayJson(wishes.resources)},
                  {"labels", RayJson(wishes.labels)},
                  {"export", wishes.exported},
                  {"command", command}});
}

std::string RayOrder(std::string_view what, const std::string& member) {
  RayJson order = {{"do", what}};
  if (!member.empty()) order["name"] = member;
  return RayLine(order);
}

Result<RayEvent> ReadRayEvent(std::string_view line) {
  static constexpr std::pair<std::string_view, RayEvent::Kind> kKinds[] = {
      {"listed", RayEvent::Kind::kListed},   {"queued", RayEvent::Kind::kQueued},
      {"running", RayEvent::Kind::kRunning}, {"leaving", RayEvent::Kind::kLeaving},
      {"ended", RayEvent::Kind::kEnded},     {"refused", RayEvent::Kind::kRefused},
      {"trouble", RayEvent::Kind::kTrouble}};
  const auto json = nlohmann::json::parse(line, nullptr, false);
  const std::string is = json.is_object() ? RayText(json, "is") : "";
  const auto* const kind =
      std::ranges::find(kKinds, is, &std::pair<std::string_view, RayEvent::Kind>::first);
  if (kind == std::end(kKinds)) {
    return Unavailable("the helper for Ray says " + PlainText(line, kMostNameBytes));
  }
  RayEvent event;
  event.kind = kind->second;
  event.member = RayText(json, "name");
  for (const char* name : {"why", "how", "node"}) event.text += RayText(json, name);
  if (const auto cpu = json.find("cpu"); cpu != json.end() && cpu->is_number()) {
    event.cpu_seconds = std::max(cpu->get<double>(), 0.0);
  }
  if (const auto members = json.find("members"); members != json.end() && members->is_array()) {
    for (const auto& member : *members) {
      if (member.is_string()) event.members.push_back(member.get<std::string>());
    }
  }
  return event;
}

Result<std::map<std::string, double>> ReadRayResources(std::string_view text) {
  HR_TRY(const auto pairs, RayPairs(text, "--ray-resources"));
  std::map<std::string, double> resources;
  for (const auto& [name, value] : pairs) {
    double amount = 0;
    const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), amount);
    const bool is_all = error == std::errc() && end == value.data() + value.size();
    if (!is_all || !std::isfinite(amount) || amount <= 0) {
      return InvalidArgument("--ray-resources: " + PlainText(name + "=" + value, kMostNameBytes) +
                             " is no amount above 0");
    }
    if (name == "CPU" || name == "GPU" || name == "memory") {
      return InvalidArgument("--ray-resources is of the cluster's own kinds; for " + name +
                             " there is --ray-cores or --ray-memory");
    }
    resources[name] = amount;
  }
  return resources;
}

Result<std::map<std::string, std::string>> ReadRayLabels(std::string_view text) {
  HR_TRY(const auto pairs, RayPairs(text, "--ray-labels"));
  return std::map<std::string, std::string>(pairs.begin(), pairs.end());
}

std::string RayMemberName(const std::string& pool, std::int64_t epoch, std::int64_t number) {
  return pool + "." + std::to_string(epoch) + "." + std::to_string(number);
}

std::string_view RayRemedy(Detail trouble) {
  if (trouble == Detail::kUnreachable) {
    return "start the Ray cluster, or name it and an interpreter of its release: --ray-address, "
           "--ray-python";
  }
  if (trouble == Detail::kNoRoom) {
    return "wait for the autoscaler, or ask for smaller workers: --ray-cores, --ray-memory";
  }
  return "";
}

bool IsRayMemberOf(const std::string& pool, std::string_view name) {
  if (!name.starts_with(pool + ".") || name.size() > kMostNameBytes) return false;
  name.remove_prefix(pool.size() + 1);
  const std::size_t dot = name.find('.');
  const auto is_number = [](std::string_view part) {
    return !part.empty() && part.find_first_not_of("0123456789") == std::string_view::npos;
  };
  return dot != std::string_view::npos && is_number(name.substr(0, dot)) &&
         is_number(name.substr(dot + 1));
}

}  // namespace headrace::coordinator
