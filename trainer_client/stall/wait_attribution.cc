#include "trainer_client/stall/wait_attribution.h"

#include <algorithm>

namespace headrace::client {
namespace {

// Walks along the wait, and gives each stretch of it to one cause.
class Divider {
 public:
  Divider(SteadyTime from, SteadyTime to) : at_(from), to_(to) {}

  // Takes the part of the wait before `end` that has no cause yet.
  Duration Take(SteadyTime end) {
    const SteadyTime until = std::clamp(end, at_, to_);
    const Duration part = until - at_;
    at_ = until;
    return part;
  }
  void Until(SteadyTime end, WaitCause cause) { divided_[cause] += Take(end); }
  [[nodiscard]] WaitByCause& divided() { return divided_; }

 private:
  SteadyTime at_;
  const SteadyTime to_;
  WaitByCause divided_;
};

// Divides `whole` in the proportion of the weights. The heaviest gets the rest of the rounding.
void Share(Duration whole, const WaitByCause& weights, WaitByCause& out) {
  double sum = 0;
  std::size_t heaviest = static_cast<std::size_t>(WaitCause::kCompute);
  for (std::size_t i = 0; i < kWaitCauses; ++i) {
    sum += static_cast<double>(weights.of[i].count());
    if (weights.of[i] > weights.of[heaviest]) heaviest = i;
  }
  Duration left = whole;
  for (std::size_t i = 0; i < kWaitCauses && sum > 0; ++i) {
    if (i == heaviest) continue;
    const double share = static_cast<double>(weights.of[i].count()) / sum;
    const Duration part(static_cast<Duration::rep>(static_cast<double>(whole.count()) * share));
    const Duration given = std::min(part, left);
    out.of[i] += given;
    left -= given;
  }
  out.of[heaviest] += left;
}

Duration NotNegative(Duration duration) { return std::max(duration, Duration{}); }

}  // namespace

WaitByCause DivideWait(SteadyTime from, SteadyTime to, const BatchTimeline& timeline) {
  const SteadyTime ready = std::clamp(timeline.ready, from, to);
  Divider wait(from, ready);
  wait.divided()[WaitCause::kCopy] = to - ready;
  if (from == ready) return wait.divided();  // nearly all there is where workers keep up

  wait.Until(timeline.submitted, WaitCause::kSampler);
  wait.Until(timeline.served, WaitCause::kQueue);
  wait.Until(timeline.planned, WaitCause::kSource);
  // No worker was ready, or an earlier request failed.
  wait.Until(timeline.sent, WaitCause::kQueue);

  const BatchTimeline::Worker& worker = timeline.worker;
  const Duration source = NotNegative(worker.source), compute = NotNegative(worker.compute),
                 python = NotNegative(worker.python), queue = NotNegative(worker.queue);
  const Duration work = source + compute + python;
  const Duration away = NotNegative(timeline.arrived - timeline.sent);
  const Duration wall = std::min(worker.wall > Duration{} ? worker.wall : queue + work, away);
  const Duration waited = std::min(queue, wall);
  const Duration busy = wall - waited;
  wait.Until(timeline.sent + waited, WaitCause::kQueue);
  // Threads that work at the same time count together, so they can only be too many. Where they
  // are too few, none was at work on this batch for the rest.
  WaitByCause weights;
  weights[WaitCause::kSource] = source;
  weights[WaitCause::kCompute] = compute;
  weights[WaitCause::kPython] = python;
  weights[WaitCause::kQueue] = NotNegative(busy - work);
  Share(wait.Take(timeline.sent + wall), weights, wait.divided());
  // The bytes are in the answer, so the rest of the wait follows the work.
  wait.Until(timeline.arrived, WaitCause::kNetwork);
  wait.Until(ready, WaitCause::kCopy);
  return wait.divided();
}

}  // namespace headrace::client
