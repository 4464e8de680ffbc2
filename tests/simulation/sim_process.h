#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <utility>

namespace headrace::simulation {

// A process of a simulated host: what is to happen in it happens if it lives, and later if it is
// stopped. One thread.
class SimProcess {
 public:
  SimProcess(std::string host, std::string name, std::uint64_t number)
      : host_(std::move(host)), name_(std::move(name)), number_(number) {}

  [[nodiscard]] const std::string& host() const { return host_; }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }  // no other process has it
  [[nodiscard]] bool alive() const { return alive_; }

  void Run(std::function<void()> task) {
    if (!alive_) return;
    if (stopped_) {
      deferred_.push_back(std::move(task));
    } else {
      task();
    }
  }
  // As SIGSTOP and SIGCONT do.
  void Stop() { stopped_ = true; }
  void Continue() {
    stopped_ = false;
    while (!deferred_.empty() && alive_ && !stopped_) {
      const std::function<void()> task = std::move(deferred_.front());
      deferred_.pop_front();
      task();
    }
  }
  void Kill() {
    alive_ = false;
    deferred_.clear();
  }

 private:
  const std::string host_;
  const std::string name_;
  const std::uint64_t number_;
  bool alive_ = true;
  bool stopped_ = false;
  std::deque<std::function<void()>> deferred_;
};

}  // namespace headrace::simulation
