#include "tests/simulation/event_queue.h"

#include <algorithm>
#include <cstdio>

#include "base/hash.h"

namespace headrace::simulation {
namespace {

// The fake wall clock begins in 2023. Ids that begin at the time of day need a later one.
constexpr Duration kStart = std::chrono::hours(24 * 365 * 3);

}  // namespace

EventQueue::EventQueue(bool aloud) : aloud_(aloud), start_(SteadyTime(kStart)) {
  clock_.Advance(kStart);
}

EventQueue::Event EventQueue::At(SteadyTime when, std::function<void()> run) {
  const Event event(std::max(when, Now()), ++planned_);
  events_.emplace_hint(events_.end(), event, std::move(run));
  return event;
}

bool EventQueue::RunNext(SteadyTime until) {
  const auto next = events_.begin();
  if (next == events_.end() || next->first.first > until) {
    clock_.Advance(until - Now());
    return false;
  }
  clock_.Advance(next->first.first - Now());
  const std::function<void()> run = std::move(next->second);
  events_.erase(next);
  ++run_;
  run();
  if (after_each_) after_each_();
  return true;
}

void EventQueue::Clear() {
  // What goes with an event may cancel others.
  while (!events_.empty()) {
    const auto event = events_.extract(events_.begin());
  }
}

void EventQueue::Note(const char* what, std::uint64_t a, std::uint64_t b) {
  // Of the name, its first letters do.
  trace_ = MixBits(trace_ ^ static_cast<std::uint64_t>(Now().time_since_epoch().count()));
  trace_ = MixBits(trace_ + static_cast<unsigned char>(what[0]) + a);
  trace_ = MixBits(trace_ + b);
  if (aloud_) Say(std::string(what) + " " + std::to_string(a) + " " + std::to_string(b));
}

void EventQueue::Say(const std::string& line) const {
  if (!aloud_) return;
  std::fprintf(stderr, "%12.6f %s\n", std::chrono::duration<double>(Now() - start_).count(),
               line.c_str());
}

}  // namespace headrace::simulation
