#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>

#include "dataworker/exec/executor.h"

namespace headrace::testing_support {

// One thread of its own. TBB bounds the threads of a process, and would give one to all workers in it
// together.
class ThreadExecutor final : public dataworker::Executor {
 public:
  ThreadExecutor() : thread_([this] { Run(); }) {}
  ~ThreadExecutor() override { Stop(); }

  [[nodiscard]] int concurrency() const override { return 1; }
  void Submit(Task task) override {
    const std::lock_guard lock(mutex_);
    if (stopped_) return;
    tasks_.push_back(std::move(task));
    changed_.notify_all();
  }
  void Stop() override {
    {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
      changed_.notify_all();
    }
    if (thread_.joinable()) thread_.join();
  }

 private:
  void Run() {
    dataworker::ThreadContext context;
    std::unique_lock lock(mutex_);
    while (true) {
      changed_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task(context);
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_:
  std::deque<Task> tasks_;
  bool stopped_ = false;
  std::thread thread_;  // last: it uses the others
};

}  // namespace headrace::testing_support
