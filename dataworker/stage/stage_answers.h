#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <tuple>
#include <utility>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/result.h"
#include "dataworker/stage/frame_socket.h"
#include "dataworker/stage/stage_job.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// Answers a session's batches of a Python plan: with what a host said, after checks, or with the
// reason why there is no batch. A host runs user code, so nothing that it says is trusted. It
// answers each attempt: the later ones with kCancelled, after the first. One thread.
class StageAnswers {
 public:
  // What was made. `memory` is set when the batch has no arena: the answer carries it.
  struct Made {
    wire::BatchDone answer;
    ByteSpan memory;
    std::shared_ptr<const void> hold;
  };

  // `on_done`: called once an attempt. `clock` outlives this.
  StageAnswers(const Clock& clock, std::function<void(Made)> on_done)
      : clock_(clock), on_done_(std::move(on_done)) {}

  // Whether Give accepts the frame.
  [[nodiscard]] static bool IsAnswer(const StageFrame& frame);
  // Answers with what the job's host said. `read_bytes`: the bytes that the host read for the
  // batch. The answer has an error where
  //
  //   kUnavailable        the host answered wrongly
  //   kCancelled          the job was cancelled meanwhile
  //   kResourceExhausted  the slot is too small: needed_bytes says what would do
  //   kUnsupported        the part outside the slot is more than a message carries
  //
  // REQUIRES: IsAnswer(frame); the job's arena is set.
  void Give(const StageJob& job, StageFrame frame, std::uint64_t read_bytes);
  // Answers that there is no batch.
  void Refuse(const StageJob& job, Status status);

  // Whether the request probably crossed the batch's answer on its way. The first request for a
  // batch that was made a moment ago did. The second one did not: the answer was lost, and the
  // batch is made again.
  [[nodiscard]] bool Crossed(const wire::BatchRequest& request);

 private:
  [[nodiscard]] Made Read(const StageJob& job, StageFrame frame, std::uint64_t read_bytes) const;
  [[nodiscard]] Made Refusal(const StageJob& job, Status status,
                             std::uint64_t needed_bytes = 0) const;
  [[nodiscard]] wire::BatchDone AnswerTo(const StageJob& job) const;
  void Tell(const StageJob& job, Made made);

  const Clock& clock_;
  const std::function<void(Made)> on_done_;
  // The last batches that were made; the last part of each is its lane set.
  std::deque<std::tuple<IterationId, BatchId, std::uint64_t>> made_;
};

}  // namespace headrace::dataworker
