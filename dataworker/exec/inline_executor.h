#pragma once

#include <deque>

#include "dataworker/exec/executor.h"

namespace headrace::dataworker {

// Runs tasks on the caller's thread, one by one and only when told, for deterministic tests. One
// thread.
class InlineExecutor final : public Executor {
 public:
  ~InlineExecutor() override { Stop(); }
  [[nodiscard]] int concurrency() const override { return 1; }
  void Submit(Task task) override {
    if (!stopped_) tasks_.push_back(std::move(task));
  }
  void Stop() override {
    RunAll();
    stopped_ = true;
  }

  // Runs the oldest task; false when there is none.
  bool RunOne() {
    if (tasks_.empty()) return false;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    task(context_);
    return true;
  }
  void RunAll() {
    while (RunOne()) {
    }
  }
  [[nodiscard]] std::size_t queued() const { return tasks_.size(); }

 private:
  std::deque<Task> tasks_;
  ThreadContext context_;
  bool stopped_ = false;
};

}  // namespace headrace::dataworker
