#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/clock.h"
#include "dataworker/session/attachment.h"
#include "dataworker/session/compiled_plan.h"
#include "dataworker/session/sample_inputs.h"
#include "dataworker/session/session_environment.h"
#include "dataworker/share/work.h"
#include "schemas/wire/control.h"

namespace headrace::dataworker {

// Caches samples of a session's native plan that nobody has asked for yet, as the coordinator orders
// (FillOrder): the keys of this worker's part, in their order. What is there is skipped.
//
//   begins a sample   only while no unit and no row of anybody waits for its turn here
//   open at a time    as many as there are threads; four times that where the source waits
//   source            the order's rate, and the job's own limits (SourceReads)
//
// So a batch waits for one sample a thread at most. It stops at the end of its part. Where there was no
// room, it rests and looks again. Reactor thread; the owner calls Close before it releases this.
class CacheFill : public std::enable_shared_from_this<CacheFill> {
 public:
  // Both outlive it.
  CacheFill(SessionEnvironment& environment, const Attachment& attachment)
      : environment_(environment), attachment_(attachment) {}

  // The session's plan. Nothing is filled before it is known.
  void Use(std::shared_ptr<const CompiledPlan> plan);
  // What holds from now on; 0 bytes/s: nothing is filled.
  void Follow(const wire::FillOrder& order);
  // Begins at the first key again: what was there has gone.
  void Restart();
  void Close();
  [[nodiscard]] bool closed() const { return closed_; }

 private:
  class Sample;
  enum class Outcome : std::uint8_t { kThere, kKept, kRefused, kFailed };

  // Begins what may begin now.
  void Pump();
  // Whether others have nothing that waits.
  [[nodiscard]] bool Idle() const;
  // What the cache keeps of the samples now. REQUIRES: there is a plan.
  [[nodiscard]] const KeptForm& Kept() const;
  [[nodiscard]] std::size_t Most() const;
  void Begin(std::int64_t key);
  void OnInput(SampleInput input, const CompiledPlan::Location& at);
  void OnDone(Outcome outcome, std::uint64_t bytes_read);
  void PumpAfter(Duration delay);
  void StopTimer();

  SessionEnvironment& environment_;
  const Attachment& attachment_;
  std::shared_ptr<const CompiledPlan> plan_;
  wire::FillOrder order_;
  std::int64_t next_ = 0;  // key, of this worker's part
  std::size_t open_ = 0;   // samples that have begun
  int refused_ = 0;        // so far; after a rest 1
  double allowance_ = 0;   // bytes of the source; below 0: it waits
  SteadyTime counted_{};   // when the allowance grew last
  SteadyTime rests_until_ = SteadyTime::min();
  net::TimerId timer_ = 0;
  bool closed_ = false;
};

}  // namespace headrace::dataworker
