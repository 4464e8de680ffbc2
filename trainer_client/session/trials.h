#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "base/ids.h"

namespace headrace::client {

// Decides which workers of a session may make batches for the trainer (docs/adr/0028-elsewhere.md).
//
// A reference makes a batch as the stock loader does, by construction. Every other worker must show
// that it makes the same. So two workers make a batch from the same beginning: one for the trainer,
// and one as a shadow, which is compared and dropped.
//
//   on trial --so many of its shadows were equal--> trusted --a share of its batches has shadows--+
//       |                                              |  ^--------------- equal ----------------+
//       +---------------- different -------------------+--different--> withdrawn, for good
//
// A worker on trial makes its shadow of a batch that a reference makes. A reference makes the
// shadow of a trusted worker's batch. Each worker has at most one at a time. A lost shadow has no
// effect. Pure. Reactor thread.
class Trials {
 public:
  struct Options {
    int equal_for_trust = 2;
    // One of this many batches of a trusted worker has a shadow, chosen by the batch's number; 0:
    // none has.
    std::uint64_t compare_every = 256;
  };
  enum class Standing : std::uint8_t { kUnknown, kReference, kOnTrial, kTrusted, kWithdrawn };
  struct Shadow {
    WorkerId maker;
    WorkerId tried;  // the worker that the comparison is about
  };

  explicit Trials(Options options) : options_(options) {}

  // Notes that the worker answers. The first call says whether it is a reference.
  void Ready(WorkerId worker, bool reference);
  // Notes that the worker does not answer for now. It is asked for no shadow; what it has shown
  // stands.
  void Away(WorkerId worker);
  // Notes that the worker has ended. Another process may come with its number. A withdrawn one
  // stays withdrawn.
  void Gone(WorkerId worker);
  [[nodiscard]] Standing standing(WorkerId worker) const;
  [[nodiscard]] bool may_serve(WorkerId worker) const {
    const Standing now = standing(worker);
    return now == Standing::kReference || now == Standing::kTrusted;
  }

  // Notes that `worker` was asked for the batch. Returns the shadows to ask for; each counts as
  // open.
  [[nodiscard]] std::vector<Shadow> OnSent(WorkerId worker, std::int64_t ticket);
  // Drops this worker's open shadow: it was not sent, or one of the two batches will not come.
  void OnLost(WorkerId tried);
  // Puts a trusted worker on trial again.
  void Doubt(WorkerId worker);
  // Notes the comparison of the worker's two batches. Returns its standing now.
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
