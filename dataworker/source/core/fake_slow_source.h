#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "dataworker/source/core/source.h"

namespace headrace::dataworker {

// For tests: a store of objects as one behind HTTP is. It answers when the test says so, in an order
// that the seed draws, on the thread that says so, and can fail. Rows that are neighbours in one
// Fetch go out as one request. All its sources share it. Thread-safe.
class FakeStore : public std::enable_shared_from_this<FakeStore> {
 public:
  struct Object {
    Bytes content;
    std::int64_t label = 0;
    int version = 0;
    std::optional<wire::ZipMember> member = std::nullopt;  // the content is packed
  };
  struct Request {
    Ask ask = Ask::kBytes;
    std::vector<std::int64_t> rows;  // neighbours
  };

  FakeStore(std::vector<Object> objects, unsigned seed, Clock& clock = Clock::Real())
      : clock_(clock), random_(seed), objects_(std::move(objects)) {}

  [[nodiscard]] std::unique_ptr<Source> Open(HeaderReader read_header);
  // Identities take as long as bytes.
  void SetFar() { far_ = true; }
  // The probability, 0..1, that a row is answered with an error.
  void SetFaults(double failed) {
    const std::lock_guard lock(mutex_);
    failed_ = failed;
  }
  // For how long identities are valid; how long an answer takes for AnswerDue.
  void SetTimes(Duration valid_for, Duration takes) {
    const std::lock_guard lock(mutex_);
    valid_for_ = valid_for;
    takes_ = takes;
  }
  void Change(std::int64_t row, Bytes content) {
    const std::lock_guard lock(mutex_);
    Object& object = objects_[static_cast<std::size_t>(row)];
    object.content = std::move(content);
    ++object.version;
  }

  // Answers one open row. False: none is open.
  bool AnswerOne() {
    std::unique_lock lock(mutex_);
    if (open_.empty()) return false;
    std::swap(open_[random_() % open_.size()], open_.back());
    AnswerLast(lock, /*stopped=*/false);
    return true;
  }
  // Answers the rows that were asked long enough ago, and says how many.
  std::size_t AnswerDue() {
    std::unique_lock lock(mutex_);
    std::size_t answered = 0;
    while (!open_.empty() && open_.front().due <= clock_.Now()) {
      std::rotate(open_.begin(), open_.begin() + 1, open_.end());
      AnswerLast(lock, /*stopped=*/false);
      ++answered;
    }
    return answered;
  }
  [[nodiscard]] std::size_t open() const {
    const std::lock_guard lock(mutex_);
    return open_.size();
  }
  [[nodiscard]] std::size_t most_open() const {
    const std::lock_guard lock(mutex_);
    return most_open_;
  }
  std::vector<Request> TakeRequests() {
    const std::lock_guard lock(mutex_);
    return std::exchange(requests_, {});
  }

 private:
  friend class FakeSlowSource;
  struct Row {
    const Source* source = nullptr;
    Ask ask = Ask::kBytes;
    std::int64_t row = 0;
    std::size_t index = 0;
    std::shared_ptr<const Source::Sink> sink;
    HeaderReader read_header;
    SteadyTime due{};
  };

  // Answers the last of open_, without the lock.
  void AnswerLast(std::unique_lock<std::mutex>& lock, bool stopped) {
    Row row = std::move(open_.back());
    open_.pop_back();
    running_.insert(row.source);
    RowAnswer answer =
        stopped ? RowAnswer::Failed(Unavailable("the source was stopped")) : AnswerTo(row);
    lock.unlock();
    (*row.sink)(row.index, std::move(answer));
    row.sink.reset();
    lock.lock();
    running_.erase(running_.find(row.source));
  }
  RowAnswer AnswerTo(const Row& row) {
    if (row.row < 0 || row.row >= static_cast<std::int64_t>(objects_.size())) {
      return RowAnswer::Failed(InvalidArgument("row " + std::to_string(row.row)));
    }
    const std::string name = "object " + std::to_string(row.row);
    if (failed_ > 0 && static_cast<double>(random_() % 1000) < failed_ * 1000) {
      return RowAnswer::Failed(Unavailable(name + ": 503"));
    }
    const Object& object = objects_[static_cast<std::size_t>(row.row)];
    RowAnswer answer;
    answer.sample.content =
        ContentIdentity::OfText(name, std::to_string(object.version), NameReach::kEverywhere);
    answer.valid_for = valid_for_;
    if (row.ask == Ask::kBytes) {
      const auto copy = std::make_shared<Bytes>(object.content);
      copy->resize(object.content.size() + ScratchBuffer::kSlack);
      answer.sample.bytes = ByteSpan(*copy).first(object.content.size());
      answer.sample.member = object.member;
      answer.hold = copy;
      answer.bytes_read = object.content.size();
    } else if (row.ask == Ask::kSpec) {
      const auto spec =
          row.read_header(object.content, [&](std::size_t) { return ByteSpan(object.content); });
      answer.status = spec.status();
      if (spec.ok()) answer.spec = *spec;
      answer.bytes_read = std::min<std::uint64_t>(object.content.size(), Source::kHeadBytes);
    } else if (row.ask != Ask::kIdentity) {
      answer.status = Unsupported("not a file");
    }
    return answer;
  }
  void Begin(const Source* source, Ask ask, std::span<const std::int64_t> rows, bool stopped,
             const std::shared_ptr<const Source::Sink>& sink, const HeaderReader& read_header) {
    std::unique_lock lock(mutex_);
    for (std::size_t i = 0; i < rows.size(); ++i) {
      const bool next = i > 0 && rows[i] == rows[i - 1] + 1;
      if (!next) requests_.push_back({ask, {}});
      requests_.back().rows.push_back(rows[i]);
      open_.push_back({source, ask, rows[i], i, sink, read_header, clock_.Now() + takes_});
      if (stopped) AnswerLast(lock, true);
    }
    most_open_ = std::max(most_open_, open_.size());
  }
  void Stop(const Source* source) {
    std::unique_lock lock(mutex_);
    while (true) {
      const auto open = std::ranges::find(open_, source, &Row::source);
      if (open == open_.end()) break;
      std::iter_swap(open, std::prev(open_.end()));
      AnswerLast(lock, true);
    }
    while (running_.contains(source)) {  // in a sink, on another thread
      lock.unlock();
      std::this_thread::yield();
      lock.lock();
    }
  }

  Clock& clock_;
  mutable std::mutex mutex_;
  // Guarded by mutex_:
  std::mt19937 random_;
  std::vector<Object> objects_;
  double failed_ = 0;
  Duration valid_for_{}, takes_{};
  std::atomic<bool> far_ = false;
  std::vector<Row> open_;
  std::size_t most_open_ = 0;
  std::multiset<const Source*> running_;  // their sinks
  std::vector<Request> requests_;
};

class FakeSlowSource final : public Source {
 public:
  FakeSlowSource(std::shared_ptr<FakeStore> store, HeaderReader read_header)
      : store_(std::move(store)), read_header_(std::move(read_header)) {}
  ~FakeSlowSource() override { store_->Stop(this); }
  [[nodiscard]] std::int64_t rows() const override {
    const std::lock_guard lock(store_->mutex_);
    return static_cast<std::int64_t>(store_->objects_.size());
  }
  [[nodiscard]] bool cacheable() const override { return true; }
  [[nodiscard]] bool rereads_from_memory() const override { return false; }
  [[nodiscard]] bool waits() const override { return true; }
  [[nodiscard]] bool is_far() const override { return store_->far_; }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask, std::int64_t, ScratchBuffer&) const override {
    return std::nullopt;
  }
  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override {
    store_->Begin(this, ask, rows, stopped_, std::make_shared<const Sink>(std::move(sink)),
                  read_header_);
  }
  void Stop() override {
    stopped_ = true;
    store_->Stop(this);
  }
  [[nodiscard]] const Column* column(std::int32_t index) const override {
    return index == 1 ? &label_ : nullptr;
  }
  Status CopyColumn(std::int32_t, std::int64_t row, MutableByteSpan out) const override {
    HR_RETURN_IF_ERROR(CheckRow(row, rows()));
    const std::lock_guard lock(store_->mutex_);
    const std::int64_t label = store_->objects_[static_cast<std::size_t>(row)].label;
    std::copy_n(reinterpret_cast<const std::byte*>(&label), sizeof(label), out.begin());
    return {};
  }

 private:
  const std::shared_ptr<FakeStore> store_;
  const HeaderReader read_header_;
  std::atomic<bool> stopped_ = false;
  Column label_{.dtype = DType::kI64, .row_shape = {}, .row_bytes = sizeof(std::int64_t)};
};

inline std::unique_ptr<Source> FakeStore::Open(HeaderReader read_header) {
  return std::make_unique<FakeSlowSource>(shared_from_this(), std::move(read_header));
}

}  // namespace headrace::dataworker
