#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

// What an API server says of Pods. Of its JSON, what is needed is read and the rest passed over: later
// releases add fields. A field of another type counts as missing. All pure.
namespace headrace::coordinator {

// Labels of each Pod that a pool has started.
inline constexpr char kPoolLabel[] = "headrace.io/pool";
inline constexpr char kEpochLabel[] = "headrace.io/epoch";  // of the coordinator
inline constexpr char kStartLabel[] = "headrace.io/start";  // number of the request in it

struct PodSeen {
  enum class Phase : std::uint8_t { kPending, kRunning, kEnded };
  std::string name;
  std::string uid;
  // A word that a later release may have counts as running: such a Pod ends when it is listed no more.
  Phase phase = Phase::kPending;
  bool deleting = false;  // somebody has asked for its end
  std::string node;
  std::string reason;          // why it waits, or how it ended, in the words of the engine
  Detail why = Detail::kNone;  // the kind of trouble for which it waits
  std::int64_t epoch = 0;      // 0: it has no label of ours
  std::int64_t start = 0;
};

// kUnavailable: it is no Pod with a name.
[[nodiscard]] Result<PodSeen> ReadPod(std::string_view json);

struct PodListing {
  std::string version;  // to watch from
  std::vector<PodSeen> pods;
};
// kUnavailable: it is no list. Then nothing of it is believed.
[[nodiscard]] Result<PodListing> ReadPodList(std::string_view json);

// One line of a watch.
struct PodEvent {
  enum class Kind : std::uint8_t {
    kSeen,  // made or changed
    kGone,
    kBookmark,
    kExpired,  // the version is too old: list again
    kError,
  };
  Kind kind = Kind::kError;
  PodSeen pod;
  std::string version;  // to go on from; empty: none
  std::string message;  // of an error
};
// kUnavailable: it is none.
[[nodiscard]] Result<PodEvent> ReadPodEvent(std::string_view line);

// Cuts what comes into lines. A value.
class LineCutter {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{8} << 20;  // of a line; etcd takes 1.5 MiB

  // Adds bytes. False: a line is too long, and nothing more is taken.
  [[nodiscard]] bool Add(std::string_view bytes);
  // The next whole line, without its end; false: there is none yet.
  [[nodiscard]] bool Next(std::string& line);

 private:
  std::string waiting_;
  std::size_t at_ = 0;  // what is before it was given out
};

// `"uid"` of the object's metadata. kUnavailable: it has none.
[[nodiscard]] Result<std::string> ReadUid(std::string_view json);

}  // namespace headrace::coordinator
