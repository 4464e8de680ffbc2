#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// What is said to the helper (ray_helper.py) and what it answers: one JSON object a line. All pure.
namespace headrace::coordinator {

// What each worker gets, as the user wants it.
struct RayWishes {
  std::string address;     // of the cluster, as ray.init has it
  std::string name_space;  // of the actors
  std::int64_t cores = 1;
  std::uint64_t memory_bytes = 0;
  std::map<std::string, double> resources;    // the cluster's own kinds
  std::map<std::string, std::string> labels;  // of nodes; Ray since 2.49 knows them
  std::vector<std::string> exported;          // variables besides HEADRACE_*
};

// The first line for the helper. `command`: of a worker, without the name of its member.
[[nodiscard]] std::string RaySettings(const RayWishes& wishes, const std::string& pool,
                                      const std::vector<std::string>& command);
// An order: "start", "term" or "kill" of a member, or "stop".
[[nodiscard]] std::string RayOrder(std::string_view what, const std::string& member = "");

struct RayEvent {
  enum class Kind : std::uint8_t {
    kListed,   // `members` are there, from before this helper
    kQueued,   // Ray has not started it; `text` says why
    kRunning,  // on the node `text`
    kLeaving,  // Ray takes its node away, and its worker has got SIGTERM
    kEnded,    // as `text` says
    kRefused,  // Ray does not take such a request
    kTrouble,  // the cluster is not reached
  };
  Kind kind = Kind::kTrouble;
  std::string member;
  std::string text;
  double cpu_seconds = 0;
  std::vector<std::string> members;
};
// kUnavailable: it is none.
[[nodiscard]] Result<RayEvent> ReadRayEvent(std::string_view line);

// "NAME=2,OTHER=0.5". kInvalidArgument: it is not that (the message names the option).
[[nodiscard]] Result<std::map<std::string, double>> ReadRayResources(std::string_view text);
// "NAME=VALUE,NAME=VALUE".
[[nodiscard]] Result<std::map<std::string, std::string>> ReadRayLabels(std::string_view text);

// Names of members: "POOL.EPOCH.NUMBER".
[[nodiscard]] std::string RayMemberName(const std::string& pool, std::int64_t epoch,
                                        std::int64_t number);
[[nodiscard]] bool IsRayMemberOf(const std::string& pool, std::string_view name);

// See Pool::Remedy.
[[nodiscard]] std::string_view RayRemedy(Detail trouble);

}  // namespace headrace::coordinator
