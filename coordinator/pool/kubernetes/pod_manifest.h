#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

// The Pod of a worker, as JSON for the API server. All pure.
namespace headrace::coordinator {

using TextPairs = std::vector<std::pair<std::string, std::string>>;

struct PodToleration {
  std::string key, value, effect;  // no value: whatever it is; no effect: any
};

// What each worker gets, as the user wants it. Empty: not said.
struct PodWishes {
  std::string pod_template;  // JSON of a Pod, or of what a Deployment has as its template
  std::string image;
  std::string program;  // in the image; empty: its entry point
  std::string service_account, priority_class;
  std::string keys_secret;  // a Secret with `allow`, `worker.key`
  TextPairs node_selector, labels, annotations;
  std::vector<PodToleration> tolerations;
  std::int64_t cores = 1, most_cores = 1;  // request and limit
  std::uint64_t memory_bytes = 0, most_memory_bytes = 0;
  std::uint64_t cache_bytes = 0;
  std::int64_t grace_s = 0;  // between SIGTERM and SIGKILL
};

// What a Pod belongs to: it is removed when that is.
struct PodOwner {
  std::string api_version, kind, name, uid;
};

struct PodOrigin {
  std::string pool;  // a label's value
  std::int64_t epoch = 0;
};

// A pool's name as a label may have it: 63 letters, digits, '-', '_' and '.'. A longer one keeps its
// beginning and a hash of all of it.
[[nodiscard]] std::string PoolLabel(const std::string& pool);

// `command`: of a worker, program first, without what it is to have. The container of the name `worker`,
// or else the first one, is the worker's. What a template says of it stays, except its arguments, and
// what the wishes say goes before. kInvalidArgument: the template is no Pod, or there is no image.
[[nodiscard]] Result<std::string> WorkerPod(const PodWishes& wishes, const PodOrigin& origin,
                                            const std::vector<std::string>& command,
                                            const std::optional<PodOwner>& owner,
                                            std::int64_t start);

// "a=1,b=2". kInvalidArgument, with `option` in its message.
[[nodiscard]] Result<TextPairs> ReadPairs(std::string_view text, std::string_view option);
// As kubectl writes taints: "key=value:NoSchedule,key:NoExecute,key". kInvalidArgument likewise.
[[nodiscard]] Result<std::vector<PodToleration>> ReadTolerations(std::string_view text);

}  // namespace headrace::coordinator
