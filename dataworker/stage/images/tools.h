#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace headrace::images {

// Keeps one T for each running call, and for later calls, because a program may make its samples in
// threads. Thread-safe.
template <typename T>
class Tools {
 public:
  // Calls f(T&).
  template <typename F>
  auto With(F f) {
    std::unique_ptr<T> tool = Take();
    auto result = f(*tool);
    const std::scoped_lock lock(mutex_);
    idle_.push_back(std::move(tool));
    return result;
  }

 private:
  std::unique_ptr<T> Take() {
    const std::scoped_lock lock(mutex_);
    if (idle_.empty()) return std::make_unique<T>();
    std::unique_ptr<T> tool = std::move(idle_.back());
    idle_.pop_back();
    return tool;
  }

  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;
};

}  // namespace headrace::images
