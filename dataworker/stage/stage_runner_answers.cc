// The answers of a stage runner: what hosts say, checked, and who is told.
#include <algorithm>
#include <array>
#include <limits>
#include <string>
#include <utility>

#include "dataworker/stage/stage_request.h"
#include "dataworker/stage/stage_runner.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {
namespace {

// What one answer may carry beside the slot.
constexpr std::size_t kMostPickleBytes = wire::kMaxBodyBytes / 2;
constexpr std::size_t kMostOutputBytes = std::size_t{1} << 20;
constexpr std::size_t kMadeKept = 256;
enum Outcome : std::uint64_t { kMade = 0, kRaised = 1, kTooSmall = 2, kEnded = 3 };

std::string OutputText(ByteSpan output) {
  return std::string(AsText(output.first(std::min(output.size(), kMostOutputBytes))));
}

}  // namespace

void StageRunner::OnDone(Host& host, StageFrame frame) {
  const StageGate::Running ran = RunningOf(host);
  gate_.Ended(ran);
  const std::uint64_t read_bytes = TakeReadBytes(host);
  events_.on_used({.cpu = ran.cpu, .read_bytes = read_bytes});
  const std::unique_ptr<Job> job = std::move(host.job);
  const auto outcome = StageNumbers(frame.parts[1]);
  const auto needed = StageNumbers(frame.parts[2]);
  const auto images = StageNumbers(frame.parts[10]);
  const auto samples = StageNumbers(frame.parts[11]);
  const auto cpu_ns = StageNumbers(frame.parts[12]);
  const auto is_one = [](const auto* numbers) { return numbers->size() == 1; };
  if (!std::ranges::all_of(std::array{&outcome, &needed, &images, &samples, &cpu_ns}, is_one)) {
    Answer(*job, WrongAnswer());
    return;
  }
  if (job->cancelled) {
    Answer(*job, Cancelled("the iteration was cancelled"));
    return;
  }
  if (outcome[0] == kTooSmall) {
    Answer(*job,
           ResourceExhausted("the batch takes " + std::to_string(needed[0]) +
                             " bytes, the slot has " + std::to_string(job->request.slot_bytes)),
           needed[0]);
    return;
  }
  Made made;
  made.answer = AnswerTo(*job);
  wire::BatchDone& answer = made.answer;
  answer.needed_bytes = needed[0];
  answer.cost.native_images = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(images[0], std::numeric_limits<std::uint32_t>::max()));
  answer.cost.miss_cpu_ns = cpu_ns[0];
  answer.cost.source_bytes = read_bytes;
  answer.samples = static_cast<std::int32_t>(
      std::min<std::uint64_t>(samples[0], std::numeric_limits<std::int32_t>::max()));
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
    Answer(*job, Unsupported("a batch pickles to " + std::to_string(answer.pickle.size()) +
                             " bytes beside its arrays"));
    return;
  }
  const Result<std::uint64_t> used =
      UsedBytes(answer.buffer_offsets, answer.buffer_sizes, job->request.slot_bytes);
  if (!used.ok()) {
    Answer(*job, used.status());
    return;
  }
  answer.used_bytes = *used;
  if (job->own_memory && answer.used_bytes > 0) {
    const Result<MutableByteSpan> memory = job->arena->Slot(0, answer.used_bytes);
    if (!memory.ok()) {
      Answer(*job, memory.status());
      return;
    }
    made.memory = *memory;
    made.hold = job->arena;
  }
  Tell(*job, std::move(made));
}

wire::BatchDone StageRunner::AnswerTo(const Job& job) const {
  wire::BatchDone answer;
  answer.session = job.request.session;
  answer.iteration = job.request.iteration;
  answer.batch = job.request.batch;
  answer.attempt = job.request.attempt;
  const SteadyTime now = reactor_.clock().Now();
  const SteadyTime started = job.started == SteadyTime() ? now : job.started;
  answer.cost.compute_ns = static_cast<std::uint64_t>((now - started).count());
  answer.cost.python_ns = answer.cost.compute_ns;
  answer.cost.queue_ns = static_cast<std::uint64_t>((started - job.received).count());
  answer.cost.wall_ns = static_cast<std::uint64_t>((now - job.received).count());
  return answer;
}

void StageRunner::Answer(const Job& job, Status status, std::uint64_t needed_bytes) {
  Made made;
  made.answer = AnswerTo(job);
  made.answer.status = std::move(status);
  made.answer.needed_bytes = needed_bytes;
  Tell(job, std::move(made));
}

void StageRunner::Tell(const Job& job, Made made) {
  if (made.answer.status.ok()) {
    made_.emplace_back(job.request.iteration, job.request.batch, job.request.lane_set);
    if (made_.size() > kMadeKept) made_.pop_front();
  }
  events_.on_done(std::move(made));
  for (const std::uint32_t attempt : job.repeats) {
    Made repeat;
    repeat.answer = AnswerTo(job);
    repeat.answer.attempt = attempt;
    repeat.answer.status = Cancelled("an earlier request for this batch was answered");
    events_.on_done(std::move(repeat));
  }
}

}  // namespace headrace::dataworker
