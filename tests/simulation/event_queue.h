#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>

#include "base/clock.h"

namespace headrace::simulation {

// All that is going to happen, in the order of time and then in the order in which it was planned. Its
// clock stands still while something happens, and jumps to the next thing. One thread.
class EventQueue {
 public:
  using Event = std::pair<SteadyTime, std::uint64_t>;  // when, and its number

  // `aloud`: notes go to stderr, too.
  explicit EventQueue(bool aloud = false);

  Event At(SteadyTime when, std::function<void()> run);
  Event After(Duration delay, std::function<void()> run) {
    return At(Now() + delay, std::move(run));
  }
  // Does nothing for what has happened.
  void Cancel(const Event& event) { events_.erase(event); }
  // Moves the clock to the next event and runs it. False: there is none until `until`; the clock is
  // then there.
  bool RunNext(SteadyTime until);

  // Called after each event.
  void SetAfterEach(std::function<void()> after_each) { after_each_ = std::move(after_each); }

  // Forgets all of it.
  void Clear();

  [[nodiscard]] Clock& clock() { return clock_; }
  [[nodiscard]] SteadyTime Now() const { return clock_.Now(); }
  [[nodiscard]] std::uint64_t events_run() const { return run_; }

  // Notes what happened. Two runs are the same if their traces are.
  void Note(const char* what, std::uint64_t a = 0, std::uint64_t b = 0);
  [[nodiscard]] std::uint64_t trace() const { return trace_; }
  [[nodiscard]] bool aloud() const { return aloud_; }
  // A line for people.
  void Say(const std::string& line) const;

 private:
  const bool aloud_;
  FakeClock clock_;
  const SteadyTime start_;
  std::map<Event, std::function<void()>> events_;
  std::function<void()> after_each_;
  std::uint64_t planned_ = 0;
  std::uint64_t run_ = 0;
  std::uint64_t trace_ = 0;
};

}  // namespace headrace::simulation
