#include "dataworker/exec/io_executor.h"

#include <pthread.h>

#include <string>
#include <utility>

namespace headrace::dataworker {

void IoExecutor::Submit(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (!stopped_) {
      tasks_.push_back(std::move(task));
      if (tasks_.size() > free_ && threads_.size() < static_cast<std::size_t>(most_threads_)) {
        threads_.emplace_back([this, number = threads_.size()] { Run(number); });
      } else {
        work_.notify_one();
      }
      return;
    }
  }
  task();
}

void IoExecutor::Run(std::size_t number) {
  pthread_setname_np(pthread_self(), (name_ + std::to_string(number)).c_str());
  std::unique_lock lock(mutex_);
  while (true) {
    ++free_;
    work_.wait(lock, [this] { return stopped_ || !tasks_.empty(); });
    --free_;
    if (tasks_.empty()) return;
    {
      const Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
    }
    lock.lock();
  }
}

void IoExecutor::Stop() {
  std::vector<std::thread> threads;
  {
    const std::lock_guard lock(mutex_);
    stopped_ = true;
    threads.swap(threads_);
    work_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

std::size_t IoExecutor::threads() const {
  const std::lock_guard lock(mutex_);
  return threads_.size();
}

}  // namespace headrace::dataworker
