#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"

namespace headrace::client {

// Which workers of a session may make batches for the trainer (docs/adr/0028-elsewhere.md).
//
// A reference makes a batch as the stock loader does, by construction. Every other worker has to
// show that it makes the same: a batch is made twice from one beginning, once for the trainer and
// once as a shadow, which is compared and dropped.
//
//   on trial --so many of its shadows were equal--> trusted --a share of its batches has shadows--+
//       |                                              |  ^--------------- equal ----------------+
//       +---------------- different -------------------+--different--> withdrawn, for good
//
// The shadow of a worker on trial copies a batch that a reference makes; that of a trusted worker's
// batch is made by a reference. Each worker has at most one at a time. A lost shadow is nothing.
// Pure. Reactor thread.
class Trials {
 public:
  struct Options {
    int equal_for_trust = 2;
    // Of so many batches of a trusted worker one has a shadow, chosen by the batch's number;
    // 0: none has.
    std::uint64_t compare_every = 256;
  };
  enum class Standing : std::uint8_t { kUnknown, kReference, kOnTrial, kTrusted, kWithdrawn };
  struct Shadow {
    WorkerId maker;
    WorkerId tried;  // the worker that the comparison is about
  };

  explicit Trials(Options options) : options_(options) {}

  // The worker answers. The first time says what it is.
  void Ready(WorkerId worker, bool reference);
  // It does not, for now: no shadow is asked of it. What it has shown stands.
  void Away(WorkerId worker);
  // It has ended; by this number another process may come. A withdrawn one stays withdrawn.
  void Gone(WorkerId worker);
  [[nodiscard]] Standing standing(WorkerId worker) const;
  [[nodiscard]] bool may_serve(WorkerId worker) const {
    const Standing now = standing(worker);
    return now == Standing::kReference || now == Standing::kTrusted;
  }

  // `worker` was asked for the batch. Who is to be asked for a shadow of it; each counts as open.
  [[nodiscard]] std::vector<Shadow> OnSent(WorkerId worker, std::int64_t ticket);
  // The open shadow about this worker was not sent, or one of the two batches will not come.
  void OnLost(WorkerId tried);
  // Its two batches are there. Returns its standing now.
  Standing OnCompared(WorkerId tried, bool equal);

 private:
  struct Entry {
    Standing standing = Standing::kOnTrial;
    bool away = false;
    bool open = false;
    int equal = 0;
  };

  [[nodiscard]] WorkerId Reference() const;

  Options options_;
  std::map<WorkerId, Entry> workers_;
};

}  // namespace headrace::client
