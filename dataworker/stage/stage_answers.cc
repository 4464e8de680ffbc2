#include "dataworker/stage/stage_answers.h"

#include <algorithm>
#include <array>
#include <limits>
#include <string>

#include "dataworker/stage/stage_request.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {
namespace {

// The most bytes that one answer may carry outside the slot.
constexpr std::size_t kMostPickleBytes = wire::kMaxBodyBytes / 2;
constexpr std::size_t kMostOutputBytes = std::size_t{1} << 20;
constexpr std::size_t kMadeKept = 256;
constexpr std::size_t kParts = 14;  // of a frame
enum Outcome : std::uint64_t {
  kMade = 0,
  kRaised = 1,
  kTooSmall = 2,
  kEnded = 3,
  kPassed = 4,
  kEarly = 5
};

std::string OutputText(ByteSpan output) {
  return std::string(AsText(output.first(std::min(output.size(), kMostOutputBytes))));
}

template <typename Number>
Number AtMost(std::uint64_t value) {
  return static_cast<Number>(std::min<std::uint64_t>(value, std::numeric_limits<Number>::max()));
}

}  // namespace

bool StageAnswers::IsAnswer(const StageFrame& frame) {
  return frame.kind == StageMessage::kDone && frame.parts.size() == kParts;
}

void StageAnswers::Give(const StageJob& job, StageFrame frame, std::uint64_t read_bytes) {
  Tell(job, Read(job, std::move(frame), read_bytes));
}

void StageAnswers::Refuse(const StageJob& job, Status status) {
  Tell(job, Refusal(job, std::move(status)));
}

bool StageAnswers::Crossed(const wire::BatchRequest& request) {
  return std::erase(made_, std::tuple(request.iteration, request.batch, request.lane_set)) > 0;
}

StageAnswers::Made StageAnswers::Read(const StageJob& job, StageFrame frame,
                                      std::uint64_t read_bytes) const {
  const auto outcome = StageNumbers(frame.parts[1]);
  const auto needed = StageNumbers(frame.parts[2]);
  // Pictures made natively; of a lane on this host, leaves that it found and did not find.
  const auto counts = StageNumbers(frame.parts[10]);
  const auto samples = StageNumbers(frame.parts[11]);
  const auto cpu_ns = StageNumbers(frame.parts[12]);
  const auto is_one = [](const auto* numbers) { return numbers->size() == 1; };
  const bool has_leaves = counts.size() == 3;
  if (!std::ranges::all_of(std::array{&outcome, &needed, &samples, &cpu_ns}, is_one) ||
      !(has_leaves || counts.size() == 1)) {
    return Refusal(job, WrongAnswer());
  }
  if (job.cancelled) return Refusal(job, Cancelled("the iteration was cancelled"));
  if (outcome[0] == kPassed) {
    return Refusal(job, Unavailable("the lane has made later batches, and its code runs once"));
  }
  if (outcome[0] == kEarly) {
    return Refusal(job, Unavailable("the lane was not asked for the batch before this one"));
  }
  if (outcome[0] == kTooSmall) {
    return Refusal(
        job,
        ResourceExhausted("the batch takes " + std::to_string(needed[0]) + " bytes, the slot has " +
                          std::to_string(job.request.slot_bytes))
            .WithDetail(Detail::kSlotTooSmall),
        needed[0]);
  }
  Made made;
  made.answer = AnswerTo(job);
  wire::BatchDone& answer = made.answer;
  answer.needed_bytes = needed[0];
  answer.cost.native_images = AtMost<std::uint32_t>(counts[0]);
  answer.cost.leaf_hits = has_leaves ? AtMost<std::uint32_t>(counts[1]) : 0;
  answer.cost.leaf_misses = has_leaves ? AtMost<std::uint32_t>(counts[2]) : 0;
  answer.cost.miss_cpu_ns = cpu_ns[0];
  answer.cost.source_bytes = read_bytes;
  answer.samples = AtMost<std::int32_t>(samples[0]);
  answer.lane_ended = outcome[0] == kEnded;
  if (outcome[0] == kMade) {
    answer.pickle = std::move(frame.parts[3]);
    answer.buffer_offsets = StageNumbers(frame.parts[4]);
    answer.buffer_sizes = StageNumbers(frame.parts[5]);
  } else if (!answer.lane_ended) {
    answer.python_error = std::move(frame.parts[7]);
  }
  answer.lane_state = std::move(frame.parts[6]);
  answer.output = OutputText(frame.parts[8]);
  answer.error_output = OutputText(frame.parts[9]);
  answer.state_change = OutputText(frame.parts[13]);
  if (answer.pickle.size() + answer.python_error.size() + answer.lane_state.size() >
      kMostPickleBytes) {
    return Refusal(job, Unsupported("a batch pickles to " + std::to_string(answer.pickle.size()) +
                                    " bytes beside its arrays"));
  }
  const Result<std::uint64_t> used =
      UsedBytes(answer.buffer_offsets, answer.buffer_sizes, job.request.slot_bytes);
  if (!used.ok()) return Refusal(job, used.status());
  answer.used_bytes = *used;
  if (job.own_memory && answer.used_bytes > 0) {
    const Result<MutableByteSpan> memory = job.arena->Slot(0, answer.used_bytes);
    if (!memory.ok()) return Refusal(job, memory.status());
    made.memory = *memory;
    made.hold = job.arena;
  }
  return made;
}

StageAnswers::Made StageAnswers::Refusal(const StageJob& job, Status status,
                                         std::uint64_t needed_bytes) const {
  Made made;
  made.answer = AnswerTo(job);
  made.answer.status = std::move(status);
  made.answer.needed_bytes = needed_bytes;
  return made;
}

wire::BatchDone StageAnswers::AnswerTo(const StageJob& job) const {
  wire::BatchDone answer;
  answer.session = job.request.session;
  answer.iteration = job.request.iteration;
  answer.batch = job.request.batch;
  answer.attempt = job.request.attempt;
  const SteadyTime now = clock_.Now();
  const SteadyTime started = job.started == SteadyTime() ? now : job.started;
  answer.cost.compute_ns = static_cast<std::uint64_t>((now - started).count());
  answer.cost.python_ns = answer.cost.compute_ns;
  answer.cost.queue_ns = static_cast<std::uint64_t>((started - job.received).count());
  answer.cost.wall_ns = static_cast<std::uint64_t>((now - job.received).count());
  return answer;
}

void StageAnswers::Tell(const StageJob& job, Made made) {
  if (made.answer.status.ok()) {
    made_.emplace_back(job.request.iteration, job.request.batch, job.request.lane_set);
    if (made_.size() > kMadeKept) made_.pop_front();
  }
  on_done_(std::move(made));
  for (const std::uint32_t attempt : job.repeats) {
    Made repeat = Refusal(job, Cancelled("an earlier request for this batch was answered"));
    repeat.answer.attempt = attempt;
    on_done_(std::move(repeat));
  }
}

}  // namespace headrace::dataworker
