#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "base/buffer.h"
#include "base/ids.h"
#include "schemas/wire/data.h"
#include "trainer_client/session/trials.h"

namespace headrace::client {

// A batch as a worker made it, in memory of its own. REQUIRES of `done`: CheckAnswer was ok.
struct Version {
  wire::BatchDone done;
  Bytes memory;  // what the slot holds: done.used_bytes
};

// Returns whether the bytes are equal: what was made, what was raised, and the lane's generators
// after it. False need not mean other values, because pickles of equal values may differ.
[[nodiscard]] bool SameBytes(const Version& a, const Version& b);

// One batch, made twice.
struct Comparison {
  std::int64_t ticket = 0;
  WorkerId tried;
  std::shared_ptr<Version> here;   // a reference's
  std::shared_ptr<Version> there;  // the tried worker's
};

// Keeps the first of a batch's two versions until the other one comes. It asks Trials which worker
// makes a second version. Its attempts' numbers differ from the dispatcher's. Pure. Reactor thread.
class Comparisons {
 public:
  // A request for a shadow.
  struct Ask {
    WorkerId maker;
    std::uint32_t attempt = 0;
  };

  explicit Comparisons(Trials::Options options) : trials_(options) {}

  [[nodiscard]] const Trials& trials() const { return trials_; }
  void Ready(WorkerId worker, bool reference) { trials_.Ready(worker, reference); }
  void Away(WorkerId worker) { trials_.Away(worker); }
  void Gone(WorkerId worker);
  void Doubt(WorkerId worker) { trials_.Doubt(worker); }

  // Notes that `worker` was asked for the trainer's batch, and returns the shadows to ask for.
  // There are none while another comparison of the batch is open.
  [[nodiscard]] std::vector<Ask> OnSent(WorkerId worker, std::int64_t ticket);
  // Whether OnMade wants the trainer's batch.
  [[nodiscard]] bool Wants(std::int64_t ticket) const;
  // Adds a version, and returns the comparisons that are complete now.
  [[nodiscard]] std::vector<Comparison> OnMade(WorkerId maker, std::int64_t ticket,
                                               std::shared_ptr<Version> version);
  [[nodiscard]] std::optional<Comparison> OnShadow(std::uint32_t attempt,
                                                   std::shared_ptr<Version> version);
  // Forgets a shadow that will not come.
  void LoseShadow(std::uint32_t attempt);
  // Forget a batch of the trainer that will not come, or all of those before it.
  void LoseBatch(std::int64_t ticket);
  void LoseBatchesBefore(std::int64_t ticket);
  // The number of comparisons of batches that the trainer has or gets.
  [[nodiscard]] std::int64_t Undecided() const;
  // Ends a comparison that nobody can judge.
  void Leave(WorkerId tried) { trials_.OnLost(tried); }
  // Notes the verdict on a comparison. Returns the worker's standing now.
  Trials::Standing Judge(WorkerId tried, bool equal) { return trials_.OnCompared(tried, equal); }

 private:
  static constexpr std::uint32_t kShadow = std::uint32_t{1} << 31;
  struct Open {
    std::int64_t ticket = 0;
    WorkerId tried, maker;  // of the shadow
    std::shared_ptr<Version> made, shadow;
  };
  using Opened = std::map<std::uint32_t, Open>;

  Opened::iterator Lose(Opened::iterator at);
  [[nodiscard]] static Comparison Complete(const Open& open);

  Trials trials_;
  Opened open_;  // by attempt
  std::uint32_t next_ = 0;
};

}  // namespace headrace::client
