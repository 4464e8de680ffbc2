// What decodes pictures ahead, on a processor and with a decoder of the test's.
#pragma once

#include <atomic>
#include <chrono>
#include <latch>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/share/pictures_ahead.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {

inline constexpr SessionId kPicturesOne(1), kPicturesTwo(2);

// The decoder makes pictures of one byte, of files whose names are numbers.
class PicturesAheadTest : public ::testing::Test {
 protected:
  ~PicturesAheadTest() override {
    if (ahead_) ahead_->Stop();
  }
  using As = PicturesAhead::As;
  using Decoded = PicturesAhead::Decoded;

  void Make(int threads = 1, std::size_t memory = 4 * PictureRing::kBytes) {
    memory_ = WorkerMemory::Make(memory);
    ahead_ = std::make_shared<PicturesAhead>(PicturesAhead::Parts{
        .threads = threads,
        .memory = memory_,
        .decoder = [this](const std::string& path, As as,
                          const PicturesAhead::Room& room) { return Decode(path, as, room); },
        .now = [this] { return now_; },
        .use = [this] { return use_; }});
  }
  // So that so many cores idle.
  void Idle(int cores) {
    for (int i = 0; i < 2; ++i) {
      now_ += std::chrono::milliseconds(200);
      if (use_) use_->idle_seconds += 0.2 * cores;
      EXPECT_TRUE(Ask({.lane = 99}).ok());
    }
  }
  Result<PicturesAhead::Told> Ask(PicturesAhead::Question question,
                                  SessionId session = kPicturesOne) {
    return ahead_->Ask(session, std::move(question));
  }
  static std::vector<AheadLine::Wanted> Samples(std::int64_t first, std::int64_t last) {
    std::vector<AheadLine::Wanted> wanted;
    for (std::int64_t i = first; i < last; ++i) wanted.push_back({i, std::to_string(i)});
    return wanted;
  }
  // All that comes of what was asked.
  std::set<std::int64_t> Numbers(std::size_t count, std::int64_t at = 0) {
    std::set<std::int64_t> numbers;
    while (numbers.size() < count) {
      auto told = Ask({.at = at});
      EXPECT_TRUE(told.ok());
      for (const PicturesAhead::Row& row : told->rows) {
        numbers.insert(static_cast<std::int64_t>(row[0]));
      }
      std::this_thread::yield();
    }
    return numbers;
  }
  Decoded Decode(const std::string& path, As as, const PicturesAhead::Room& room) {
    ++making_;
    const bool waits = gated_.empty() || path == gated_;
    if (gate_ && waits) gate_->wait();
    ++decodes_;
    const auto out = room(bytes_);
    if (!out) {
      ++refused_;
      if (no_room_gate_) no_room_gate_->wait();
      return {.what = Decoded::What::kNoRoom};
    }
    ++placed_;
    if (late_gate_ && waits) late_gate_->wait();
    (*out)[0] = static_cast<std::byte>(as);
    return {.what = path == "13" ? Decoded::What::kNone : Decoded::What::kDone,
            .file = {1, 2, 3, 4, 5},
            .width = 1,
            .height = bytes_,
            .cpu_ns = 7};
  }

  SteadyTime now_{std::chrono::seconds(5)};
  std::optional<ProcessorUse> use_ = ProcessorUse{};
  std::size_t bytes_ = 1;
  std::atomic<int> decodes_ = 0, making_ = 0, placed_ = 0, refused_ = 0;
  std::unique_ptr<std::latch> gate_, late_gate_;  // before and after a picture has its room
  std::unique_ptr<std::latch> no_room_gate_;      // after it has got none
  std::string gated_;                             // the path for which they are; empty: all
  std::shared_ptr<WorkerMemory> memory_;
  std::shared_ptr<PicturesAhead> ahead_;
};

}  // namespace headrace::dataworker
