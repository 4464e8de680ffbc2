#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "trainer_client/draws/draw_planner.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/session/bad_samples.h"
#include "trainer_client/session/batch_answers.h"
#include "trainer_client/session/batch_book.h"
#include "trainer_client/session/batch_mailbox.h"
#include "trainer_client/session/dispatcher.h"

namespace headrace::client {

// Keeps from workers what they were lost with: whole batches at first, then the one sample. The trainer
// makes both. Reactor thread.
class HeldBack {
 public:
  // All outlive this.
  struct Parts {
    const Plan& plan;
    DrawPlanner& planner;
    BatchBook& book;
    Dispatcher& dispatcher;
    BatchAnswers& answers;
    BatchMailbox& mailbox;
    // The paths of a row's files; empty: it has none.
    std::function<std::vector<std::string>(std::int64_t row)> paths;
  };

  explicit HeldBack(Parts parts) : parts_(std::move(parts)) {}

  // Called before the first batch is planned.
  void Start(std::shared_ptr<BadSamples> bad);
  // Leaves to the trainer the batches with which too many workers were lost, and those that hold a
  // sample that was held back since they were planned.
  void Go();
  // Takes what the trainer says of a sample.
  void Report(const BadSampleReport& report);
  // As wire::BadSample::data_set.
  [[nodiscard]] std::uint64_t data_set() const { return data_set_; }

 private:
  void LeaveLost();
  [[nodiscard]] bool NamesHeldBack(const PlannedBatch& planned) const;
  // As people call it: a path, or "sample 17".
  [[nodiscard]] std::string NameOf(std::int64_t row) const;

  Parts parts_;
  std::shared_ptr<BadSamples> bad_;
  std::shared_ptr<const BadSamples::Rows> rows_;
  std::uint64_t data_set_ = 0;
  std::uint64_t seen_ = 0;  // version of bad_
};

}  // namespace headrace::client
