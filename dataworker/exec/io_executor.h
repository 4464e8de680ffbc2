#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace headrace::dataworker {

// The worker's io threads, for calls that wait for a device: reads of files that are not in memory.
// At most `most_threads` of them, "hr-io-<n>", each made when a task finds no free one. They compute
// nothing that takes long. Thread-safe. Callers bound what they submit (SourceReads).
class IoExecutor {
 public:
  using Task = std::function<void()>;

  // REQUIRES: most_threads >= 1. `name`: of its threads, before their numbers; outlives it.
  explicit IoExecutor(int most_threads, const char* name = "hr-io-")
      : most_threads_(most_threads), name_(name) {}
  IoExecutor(const IoExecutor&) = delete;
  IoExecutor& operator=(const IoExecutor&) = delete;
  // Stops.
  ~IoExecutor() { Stop(); }

  // Submits a task. Never waits, and never runs the task before it returns. Tasks start in the
  // order of submission. They must not throw. A task that comes after Stop runs on the caller's
  // thread, so that whoever waits for it hears of it.
  void Submit(Task task);
  // Runs the submitted tasks, waits for them, and ends the threads. Idempotent. A task must not
  // call it.
  void Stop();
  [[nodiscard]] int most_threads() const { return most_threads_; }
  // The threads that were made.
  [[nodiscard]] std::size_t threads() const;

 private:
  void Run(std::size_t number);

  const int most_threads_;
  const char* const name_;
  mutable std::mutex mutex_;
  std::condition_variable work_;
  // Guarded by mutex_:
  std::deque<Task> tasks_;
  std::vector<std::thread> threads_;
  std::size_t free_ = 0;  // threads that wait for a task
  bool stopped_ = false;
};

}  // namespace headrace::dataworker
