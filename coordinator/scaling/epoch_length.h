#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "schemas/wire/control.h"

namespace headrace::coordinator {

// How many samples the loaders of a job give in one pass, from the totals in its client's heartbeats. An iteration
// begins somewhere between two heartbeats, so the first answer is known to half a heartbeat, and later ones
// better. Thread-compatible; a value.
class EpochLength {
 public:
  // Takes the loads of a heartbeat: totals since each session began. Sessions come and go.
  void Report(const std::vector<wire::SessionLoad>& loads);
  // Of all open sessions whose length is known, in sum. A program may make a new loader for each epoch: then it is
  // what the last one that ended gave. 0: not known.
  [[nodiscard]] double samples() const;

 private:
  struct Seen {
    double samples = 0;
    std::uint64_t iterations = 0;
    double epoch = 0;
  };
  std::unordered_map<SessionId, Seen> open_;
  double ended_ = 0;
};

}  // namespace headrace::coordinator
