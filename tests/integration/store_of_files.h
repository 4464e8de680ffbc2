#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <stop_token>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/source/core/source.h"

namespace headrace::testing_support {

// What a store takes to answer.
inline constexpr Duration kStoreLatency = std::chrono::milliseconds(3);

// Runs functions when they are due, in the order in which they came. Thread-safe.
class StoreClock {
 public:
  void After(Duration wait, std::function<void()> then) {
    const std::lock_guard lock(mutex_);
    waiting_.emplace_back(Clock::Real().Now() + wait, std::move(then));
    changed_.notify_one();
  }
  // Runs all that waits before it returns.
  void Flush() {
    const std::lock_guard running(running_);
    std::unique_lock lock(mutex_);
    while (!waiting_.empty()) RunFirst(lock);
  }

 private:
  void RunFirst(std::unique_lock<std::mutex>& lock) {
    const std::function<void()> then = std::move(waiting_.front().second);
    waiting_.pop_front();
    lock.unlock();
    then();
    lock.lock();
  }
  void Run(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) {
      const SteadyTime due = waiting_.front().first;
      lock.unlock();
      std::this_thread::sleep_until(due);
      {
        const std::lock_guard running(running_);
        lock.lock();
        if (!waiting_.empty()) RunFirst(lock);
        lock.unlock();
      }
      lock.lock();
    }
  }
  std::mutex running_;  // one of the functions
  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<std::pair<SteadyTime, std::function<void()>>> waiting_;
  std::jthread thread_{[this](const std::stop_token& stop) { Run(stop); }};
};

// The files of a source as objects of a store: they have names that hold on all hosts, and reads of them
// take a while.
class StoreOfFiles final : public dataworker::Source {
 public:
  StoreOfFiles(std::unique_ptr<dataworker::Source> files, std::shared_ptr<StoreClock> clock)
      : files_(std::move(files)), clock_(std::move(clock)) {}
  [[nodiscard]] std::int64_t rows() const override { return files_->rows(); }
  [[nodiscard]] std::string NameOf(std::int64_t row) const override { return files_->NameOf(row); }
  [[nodiscard]] bool cacheable() const override { return true; }
  [[nodiscard]] bool rereads_from_memory() const override { return false; }
  [[nodiscard]] bool waits() const override { return true; }
  [[nodiscard]] std::optional<dataworker::RowAnswer> Now(dataworker::Ask /*ask*/,
                                                         std::int64_t /*row*/,
                                                         ScratchBuffer& /*buffer*/) const override {
    return std::nullopt;
  }
  void Fetch(dataworker::Ask ask, std::span<const std::int64_t> rows, Sink sink) const override {
    std::vector<std::string> names;
    for (const std::int64_t row : rows) names.push_back(files_->NameOf(row));
    files_->Fetch(ask, rows,
                  [clock = clock_, stopped = stopped_, names = std::move(names),
                   sink = std::move(sink)](std::size_t index, dataworker::RowAnswer answer) {
                    answer.sample.content = dataworker::ContentIdentity::OfText(
                        names[index], "1", dataworker::NameReach::kEverywhere);
                    answer.valid_for = std::chrono::hours(1);
                    if (*stopped) return sink(index, std::move(answer));
                    const auto held = std::make_shared<dataworker::RowAnswer>(std::move(answer));
                    clock->After(kStoreLatency, [sink, index, held] { sink(index, *held); });
                  });
  }
  void Stop() override {
    *stopped_ = true;
    files_->Stop();
    clock_->Flush();
  }
  [[nodiscard]] const Column* column(std::int32_t index) const override {
    return files_->column(index);
  }
  Status CopyColumn(std::int32_t index, std::int64_t row, MutableByteSpan out) const override {
    return files_->CopyColumn(index, row, out);
  }

  // Sources of a worker: "objects" reads files as above.
  static dataworker::SourceRegistry Registry() {
    dataworker::SourceRegistry registry;
    const auto clock = std::make_shared<StoreClock>();
    registry.Add(
        "objects",
        [clock](const SourceLeaf& leaf, const dataworker::SourceRegistry::Environment& environment)
            -> Result<std::unique_ptr<dataworker::Source>> {
          SourceLeaf of_files = leaf;
          of_files.source = "local_dir";
          of_files.args.clear();
          HR_TRY(auto files, dataworker::BuiltinSources().Make(of_files, environment));
          return std::unique_ptr<dataworker::Source>(
              std::make_unique<StoreOfFiles>(std::move(files), clock));
        });
    return registry;
  }

 private:
  const std::unique_ptr<dataworker::Source> files_;
  const std::shared_ptr<StoreClock> clock_;
  const std::shared_ptr<std::atomic<bool>> stopped_ = std::make_shared<std::atomic<bool>>(false);
};

}  // namespace headrace::testing_support
