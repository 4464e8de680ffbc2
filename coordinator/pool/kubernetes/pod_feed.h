#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "coordinator/pool/kubernetes/kube_client.h"
#include "coordinator/pool/kubernetes/pod_seen.h"
#include "net/reactor.h"

namespace headrace::coordinator {

// Follows the Pods of a label: lists them once, and from that version on watches what changes. A watch
// that ends goes on where it was. One whose version is too old, or that is refused, begins with a list
// again, after a pause that doubles. So where a Role lacks `watch`, the Pods are listed now and then.
// Reactor thread only.
class PodFeed {
 public:
  struct Taker {
    std::function<void()> on_begin;  // of a list
    std::function<void(const std::vector<PodSeen>&)> on_list;
    std::function<void(const PodSeen&)> on_seen;  // made or changed
    std::function<void(const PodSeen&)> on_gone;
    std::function<void(const Status&)> on_trouble;
  };
  static constexpr Duration kFirstPause = std::chrono::seconds(1);
  static constexpr Duration kLongestPause = std::chrono::seconds(30);
  // How long the server is asked to keep a watch, and how long it may be late.
  static constexpr std::chrono::seconds kWatch{300};
  static constexpr std::chrono::seconds kLate{30};

  // Lists in a turn of its own. `client` outlives it. `seed`: of the pauses.
  PodFeed(net::Reactor& reactor, KubeClient& client, const std::string& selector,
          std::uint64_t seed, Taker taker);
  PodFeed(const PodFeed&) = delete;
  PodFeed& operator=(const PodFeed&) = delete;
  ~PodFeed();

  // Begins with a list again, now. Not in a callback of the taker's.
  void List();

 private:
  void Watch();
  void OnList(const KubeVerdict& verdict, const std::string& body);
  void OnBytes(std::string_view bytes);
  void OnEvent(const std::string& line);
  void OnWatchEnd(const KubeVerdict& verdict);
  void After(Duration pause, bool list);
  [[nodiscard]] Duration NextPause();
  void Drop();

  net::Reactor& reactor_;
  KubeClient& client_;
  const std::string url_;
  const std::uint64_t seed_;
  const Taker taker_;
  std::optional<std::int64_t> call_;
  std::optional<net::TimerId> timer_;
  std::string version_;
  LineCutter lines_;
  bool must_list_ = false;  // what the watch told last cannot be gone on from
  SteadyTime watch_began_{};
  int failures_ = 0;  // in a row
  std::uint64_t drawn_ = 0;
};

}  // namespace headrace::coordinator
