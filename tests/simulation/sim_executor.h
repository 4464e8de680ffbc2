#pragma once

#include <deque>
#include <memory>
#include <utility>
#include <vector>

#include "dataworker/exec/executor.h"
#include "tests/simulation/dice.h"
#include "tests/simulation/event_queue.h"
#include "tests/simulation/sim_process.h"

namespace headrace::simulation {

// The compute threads of a simulated worker. A task takes a time that dice draw, and does what it does
// at the end of it. One thread.
class SimExecutor final : public dataworker::Executor {
 public:
  struct Times {
    Duration least, most;
  };
  SimExecutor(EventQueue& events, Dice dice, std::shared_ptr<SimProcess> process, int threads,
              Times times)
      : events_(events), dice_(dice), process_(std::move(process)), times_(times) {
    for (int i = 0; i < threads; ++i) {
      auto context = std::make_shared<dataworker::ThreadContext>();
      context->index = i;
      idle_.push_back(std::move(context));
    }
    threads_ = threads;
  }
  ~SimExecutor() override { Stop(); }

  [[nodiscard]] int concurrency() const override { return threads_; }
  void Submit(Task task) override {
    if (!state_->stopped) state_->waiting.push_back(std::move(task));
    Begin();
  }
  void Stop() override {
    if (process_->alive()) {
      dataworker::ThreadContext context;
      while (!state_->begun.empty() || !state_->waiting.empty()) {
        std::deque<Task>& from = state_->begun.empty() ? state_->waiting : state_->begun;
        const Task task = std::move(from.front());
        from.pop_front();
        if (task) task(context);
      }
    }
    state_->stopped = true;
    state_->begun.clear();
    state_->waiting.clear();
  }

 private:
  struct State {
    std::deque<Task> waiting;
    std::deque<Task> begun;   // in the order of their begin; empty ones have ended
    std::uint64_t first = 0;  // the number of the first one begun
    bool stopped = false;
  };

  void Begin() {
    while (!idle_.empty() && !state_->waiting.empty()) {
      const std::shared_ptr<dataworker::ThreadContext> context = std::move(idle_.back());
      idle_.pop_back();
      state_->begun.push_back(std::move(state_->waiting.front()));
      state_->waiting.pop_front();
      const std::uint64_t number = state_->first + state_->begun.size() - 1;
      events_.After(dice_.Between(times_.least, times_.most),
                    [this, number, context, weak = std::weak_ptr(state_)] {
                      if (weak.expired()) return;
                      process_->Run([this, number, context, weak] {
                        if (!weak.expired()) End(number, context);
                      });
                    });
    }
  }
  void End(std::uint64_t number, const std::shared_ptr<dataworker::ThreadContext>& context) {
    if (state_->stopped) return;
    Task& place = state_->begun[number - state_->first];
    const Task task = std::exchange(place, nullptr);
    while (!state_->begun.empty() && !state_->begun.front()) {
      state_->begun.pop_front();
      ++state_->first;
    }
    const std::weak_ptr<State> weak(state_);
    task(*context);
    if (weak.expired()) return;
    idle_.push_back(context);
    Begin();
  }

  EventQueue& events_;
  Dice dice_;
  const std::shared_ptr<SimProcess> process_;
  const Times times_;
  int threads_ = 1;
  std::vector<std::shared_ptr<dataworker::ThreadContext>> idle_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace headrace::simulation
