#include "dataworker/share/source_reads.h"

#include <algorithm>
#include <atomic>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "dataworker/exec/inline_executor.h"
#include "dataworker/source/core/fake_slow_source.h"
#include "dataworker/source/core/source_fixture.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using std::chrono::seconds;

constexpr std::size_t kRowBytes = 1000;
constexpr std::int64_t kRows = 500;
constexpr JobId kReader{1}, kOtherReader{2};

class SourceReadsTest : public ::testing::Test {
 protected:
  SourceReadsTest() {
    std::vector<FakeStore::Object> objects(
        kRows, {CopyBytes(AsBytes("1 1\n" + std::string(kRowBytes - 4, 'x')))});
    store_ = std::make_shared<FakeStore>(std::move(objects), 1, clock_);
    Limit({});
  }
  ~SourceReadsTest() override {
    reads_->Stop();
    held_.clear();
    gone_.clear();
    executor_.Stop();
  }
  void Limit(const ReadWindow::Limits& limits) {
    reads_ = std::make_shared<SourceReads>(SourceReads::Parts{
        queue_, clock_, [this](Duration delay) { wake_ = std::min(wake_, clock_.Now() + delay); },
        [this](std::shared_ptr<const void> gone) { gone_.push_back(std::move(gone)); }, limits});
  }
  // Asks for rows [first, last) and keeps the answers.
  void Fetch(JobId job, std::int64_t first, std::int64_t last, Ask ask = Ask::kBytes,
             IterationId iteration = IterationId(1)) {
    std::vector<std::int64_t> rows;
    for (std::int64_t row = first; row < last; ++row) rows.push_back(row);
    if (!sources_[job]) sources_[job] = store_->Open(ReadTextHeader);
    reads_->Fetch({job, SessionId(job.value), iteration}, ask, sources_[job], rows,
                  [this, job](std::size_t, RowAnswer answer) {
                    ++answers_[job];
                    codes_[answer.status.code()] += 1;
                    held_[job].push_back(std::move(answer));
                  });
  }
  void AnswerAll() {
    while (store_->AnswerOne()) {
    }
  }

  FakeClock clock_;
  InlineExecutor executor_;
  SteadyTime wake_ = SteadyTime::max();
  WorkQueue queue_{{executor_, clock_, [](Duration) {}}};
  std::shared_ptr<FakeStore> store_;
  std::map<JobId, std::shared_ptr<Source>> sources_;
  std::shared_ptr<SourceReads> reads_;
  std::map<JobId, int> answers_;
  std::map<Code, int> codes_;
  std::map<JobId, std::vector<RowAnswer>> held_;
  std::vector<std::shared_ptr<const void>> gone_;
};

// Rows of another source, paid for by a meter that the test keeps.
class MeteredRows final : public Source {
 public:
  explicit MeteredRows(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  [[nodiscard]] std::int64_t rows() const override { return source_->rows(); }
  [[nodiscard]] bool cacheable() const override { return true; }
  [[nodiscard]] bool rereads_from_memory() const override { return false; }
  [[nodiscard]] bool waits() const override { return true; }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask, std::int64_t, ScratchBuffer&) const override {
    return std::nullopt;
  }
  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override {
    ADD_FAILURE() << "nobody pays";
    source_->Fetch(ask, rows, std::move(sink));
  }
  [[nodiscard]] bool is_metered() const override { return true; }
  void FetchMetered(Ask ask, std::span<const std::int64_t> rows, Sink sink,
                    std::shared_ptr<remote::Meter> meter) const override {
    meters_.push_back(std::move(meter));
    source_->Fetch(ask, rows, std::move(sink));
  }
  void Stop() override { source_->Stop(); }
  [[nodiscard]] const Column* column(std::int32_t) const override { return nullptr; }
  Status CopyColumn(std::int32_t, std::int64_t, MutableByteSpan) const override { return {}; }
  [[nodiscard]] const std::vector<std::shared_ptr<remote::Meter>>& meters() const {
    return meters_;
  }

 private:
  const std::unique_ptr<Source> source_;
  mutable std::vector<std::shared_ptr<remote::Meter>> meters_;
};

TEST_F(SourceReadsTest, RowsOfMeteredSourcesBeginAtOnceAndTheirMeterPays) {
  clock_.Advance(seconds(1));
  queue_.SetLimits(kReader, {.source_bytes_per_second = 1000});
  auto source = std::make_unique<MeteredRows>(store_->Open(ReadTextHeader));
  const MeteredRows& metered = *source;
  sources_[kReader] = std::move(source);
  Fetch(kReader, 0, 10);
  EXPECT_EQ(store_->open(), 10U) << "a limit of one row a second holds none of them back";
  ASSERT_FALSE(metered.meters().empty());
  remote::Meter& meter = *metered.meters().front();
  for (const auto& other : metered.meters()) EXPECT_EQ(other.get(), &meter) << "one a job";
  EXPECT_EQ(meter.Rate(), 1000U);
  EXPECT_EQ(meter.ReadyAt(clock_.Now()), clock_.Now());
  meter.Take(2000, clock_.Now());
  EXPECT_EQ(meter.ReadyAt(clock_.Now()), clock_.Now() + seconds(2));
  EXPECT_FALSE(queue_.MayRead(kReader)) << "files of the job wait too";
  meter.Take(-1500, clock_.Now());
  EXPECT_EQ(meter.ReadyAt(clock_.Now()), clock_.Now() + std::chrono::milliseconds(500));
  AnswerAll();
  EXPECT_EQ(meter.ReadyAt(clock_.Now()), clock_.Now() + std::chrono::milliseconds(500))
      << "answers cost nothing more";
  const std::vector<JobWork> usage = queue_.Usage();
  ASSERT_EQ(usage.size(), 1U);
  EXPECT_EQ(usage[0].source_bytes, 10 * kRowBytes) << "and are in the account";
  clock_.Advance(std::chrono::milliseconds(500));
  EXPECT_EQ(meter.ReadyAt(clock_.Now()), clock_.Now());
  EXPECT_EQ(queue_.Usage()[0].limited_ns, 500'000'000U) << "the limit held it back so long";
}

TEST_F(SourceReadsTest, BytesAreBoundedUntilTheyAreUsed) {
  Limit({.bytes = 20 * kRowBytes, .rows = 100});
  Fetch(kReader, 0, 1);
  AnswerAll();  // how large they are
  held_.clear();
  Fetch(kReader, 0, 200);
  EXPECT_EQ(store_->open(), 20U);
  AnswerAll();
  EXPECT_EQ(answers_[kReader], 21);
  EXPECT_EQ(reads_->open_bytes(), 20 * kRowBytes);
  EXPECT_EQ(reads_->waiting_rows(), 180U);
  while (!held_[kReader].empty()) {
    held_[kReader].pop_back();
    AnswerAll();
    EXPECT_LE(reads_->open_bytes(), 20 * kRowBytes);
  }
  EXPECT_EQ(answers_[kReader], 201);
  EXPECT_EQ(reads_->open_rows(), 0U);
}

TEST_F(SourceReadsTest, RowsThatWereAskedTogetherGoOutTogether) {
  Fetch(kReader, 10, 42);
  const auto requests = store_->TakeRequests();
  ASSERT_EQ(requests.size(), 1U);
  EXPECT_EQ(requests[0].rows.size(), 32U);
  EXPECT_EQ(requests[0].rows.front(), 10);
  AnswerAll();
}

TEST_F(SourceReadsTest, JobsTakeTurnsAndOneThatKeepsItsBytesHoldsUpOnlyItself) {
  Limit({.bytes = std::uint64_t{1} << 30, .rows = 40});
  Fetch(kReader, 0, 300);
  EXPECT_EQ(store_->open(), 40U);
  Fetch(kOtherReader, 0, 300);
  EXPECT_EQ(store_->open(), 60U) << "its part at once";
  AnswerAll();
  EXPECT_EQ(answers_[kOtherReader], 20);
  for (int i = 0; i < 280; ++i) {  // the other keeps all of its bytes
    held_[kOtherReader].clear();
    AnswerAll();
  }
  EXPECT_EQ(answers_[kOtherReader], 300);
  EXPECT_EQ(answers_[kReader], 40);
}

TEST_F(SourceReadsTest, WhatIsSmallGoesBeforeBytes) {
  Limit({.bytes = std::uint64_t{1} << 30, .rows = 2});
  Fetch(kReader, 0, 10);
  Fetch(kReader, 20, 22, Ask::kSpec);
  store_->TakeRequests();
  AnswerAll();
  held_.clear();
  const auto requests = store_->TakeRequests();
  ASSERT_FALSE(requests.empty());
  EXPECT_EQ(requests[0].ask, Ask::kSpec);
  while (answers_[kReader] < 12) {
    held_.clear();
    AnswerAll();
  }
}

TEST_F(SourceReadsTest, ASourceLimitHolds) {
  constexpr std::uint64_t kRate = 10 * kRowBytes;  // 10 rows a second
  queue_.SetLimits(kReader, {.source_bytes_per_second = kRate});
  Fetch(kReader, 0, 400);
  Fetch(kOtherReader, 0, 100);  // not limited
  EXPECT_GE(store_->open(), 100U);
  for (int i = 0; i < 20'000 && clock_.Now() < SteadyTime(seconds(20)); ++i) {
    AnswerAll();
    held_.clear();
    ASSERT_LT(wake_, SteadyTime::max());
    clock_.Advance(std::max(std::exchange(wake_, SteadyTime::max()) - clock_.Now(), Duration(0)));
    reads_->Wake();
  }
  AnswerAll();
  EXPECT_EQ(answers_[kOtherReader], 100);
  // The rate, a burst of a tenth of a second, and what the first row was guessed too small.
  EXPECT_GE(answers_[kReader], 190);
  EXPECT_LE(answers_[kReader], 203);
  for (const JobWork& work : queue_.Usage()) {
    if (work.job == kReader) {
      EXPECT_EQ(work.source_bytes, static_cast<std::uint64_t>(answers_[kReader]) * kRowBytes);
      EXPECT_GT(work.limited_ns, std::uint64_t{15} * 1'000'000'000);
    }
  }
}

TEST_F(SourceReadsTest, ALimitOfAllJobsIsDividedEvenly) {
  queue_.SetSourceLimit(20 * kRowBytes);
  Fetch(kReader, 0, 400);
  Fetch(kOtherReader, 0, 400);
  for (int i = 0; i < 20'000 && clock_.Now() < SteadyTime(seconds(10)); ++i) {
    AnswerAll();
    held_.clear();
    clock_.Advance(std::max(std::exchange(wake_, SteadyTime::max()) - clock_.Now(), Duration(0)));
    reads_->Wake();
  }
  AnswerAll();
  EXPECT_NEAR(answers_[kReader], answers_[kOtherReader], 2);
  EXPECT_LE(answers_[kReader] + answers_[kOtherReader], 210);
}

TEST_F(SourceReadsTest, DroppedRowsThatHaveNotBegunAreAnsweredAtOnce) {
  Limit({.bytes = std::uint64_t{1} << 30, .rows = 4});
  Fetch(kReader, 0, 10, Ask::kBytes, IterationId(1));
  Fetch(kReader, 0, 10, Ask::kBytes, IterationId(2));
  Fetch(kReader, 0, 3, Ask::kSpec, IterationId());
  reads_->Drop(SessionId(kOtherReader.value));
  EXPECT_TRUE(codes_.empty());
  reads_->Drop(SessionId(kReader.value), IterationId(2));
  EXPECT_EQ(codes_, (std::map<Code, int>{{Code::kCancelled, 6}}));
  reads_->Drop(SessionId(kReader.value));
  EXPECT_EQ(codes_[Code::kCancelled], 19);
  AnswerAll();
  EXPECT_EQ(codes_[Code::kOk], 4);
  held_.clear();
  EXPECT_EQ(reads_->open_rows() + reads_->waiting_rows(), 0U);
}

TEST_F(SourceReadsTest, StopAnswersEverything) {
  Limit({.bytes = std::uint64_t{1} << 30, .rows = 4});
  Fetch(kReader, 0, 10);
  reads_->Stop();
  EXPECT_EQ(codes_, (std::map<Code, int>{{Code::kCancelled, 6}, {Code::kUnavailable, 4}}));
  Fetch(kReader, 0, 3);
  EXPECT_EQ(codes_[Code::kCancelled], 9);
  reads_->Stop();
}

// A source may go only elsewhere, not where it answers.
TEST_F(SourceReadsTest, ASourceLivesUntilItsLastRowIsAnsweredAndGoesElsewhere) {
  Fetch(kReader, 0, 2);
  const std::weak_ptr<Source> source = sources_[kReader];
  sources_.clear();
  gone_.clear();
  EXPECT_TRUE(store_->AnswerOne());
  EXPECT_FALSE(source.expired());
  EXPECT_TRUE(store_->AnswerOne());
  EXPECT_FALSE(source.expired());
  held_.clear();
  gone_.clear();
  EXPECT_TRUE(source.expired());
}

// What a sink refers to may own the source.
TEST_F(SourceReadsTest, ASinkGoesElsewhereToo) {
  auto owned = std::make_shared<int>();
  const std::weak_ptr<int> watched = owned;
  reads_->Fetch({kReader, SessionId(1), IterationId(1)}, Ask::kBytes, store_->Open(ReadTextHeader),
                {0, 1}, [owned = std::move(owned)](std::size_t, const RowAnswer&) {});
  EXPECT_TRUE(store_->AnswerOne());
  EXPECT_TRUE(store_->AnswerOne());
  EXPECT_FALSE(watched.expired());
  gone_.clear();
  EXPECT_TRUE(watched.expired());
}

TEST_F(SourceReadsTest, ASourceThatAnswersAtOnceNeedsNoStack) {
  BlobMap blobs;
  const SourceLeaf leaf{
      .source = "arrays",
      .rows = 100'000,
      .table = {},
      .arrays = {{.blob = blobs.Add(Bytes(100'000)), .dtype = DType::kU8, .row_shape = {1}}}};
  auto made = BuiltinSources().Make(leaf, {blobs.lookup(), ReadTextHeader});
  ASSERT_TRUE(made.ok());
  Limit({.bytes = 10, .rows = 1});
  const std::shared_ptr<Source> arrays = std::move(made).value();
  int answers = 0;
  std::vector<std::int64_t> rows(100'000);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i] = static_cast<std::int64_t>(i);
  reads_->Fetch({kReader, SessionId(1), IterationId(1)}, Ask::kBytes, arrays, rows,
                [&](std::size_t, const RowAnswer&) { ++answers; });
  EXPECT_EQ(answers, 100'000);
}

// Threads that ask, answer, use and drop at the same time: every row is answered once, and nothing
// stays open.
TEST_F(SourceReadsTest, NoRowIsLostOrAnsweredTwice) {
  const unsigned seed = std::random_device()();
  std::cout << "seed " << seed << "\n";
  Limit({.bytes = 30 * kRowBytes, .rows = 20});
  store_->SetFaults(0.1);
  std::mutex mutex;
  std::map<std::pair<int, int>, int> answered;  // call, row
  std::vector<std::shared_ptr<const void>> used;
  std::atomic<bool> over = false;
  std::vector<std::thread> threads;
  constexpr int kCalls = 200;
  std::vector<std::shared_ptr<Source>> sources;
  for (int i = 0; i < 3; ++i) sources.push_back(store_->Open(ReadTextHeader));
  auto reads =
      std::make_shared<SourceReads>(SourceReads::Parts{queue_,
                                                       clock_,
                                                       [](Duration) {},
                                                       [](const std::shared_ptr<const void>&) {},
                                                       {.bytes = 30 * kRowBytes, .rows = 20}});
  for (int thread = 0; thread < 3; ++thread) {
    threads.emplace_back([&, thread] {
      std::mt19937 random(seed + static_cast<unsigned>(thread));
      for (int call = thread; call < kCalls; call += 3) {
        std::vector<std::int64_t> rows(random() % 20 + 1);
        for (auto& row : rows) row = static_cast<std::int64_t>(random() % kRows);
        const JobId job(static_cast<std::int64_t>(random() % 3));
        reads->Fetch({job, SessionId(thread), IterationId(call + 1)}, Ask::kBytes,
                     sources[static_cast<std::size_t>(thread)], rows,
                     [&, call](std::size_t index, RowAnswer answer) {
                       const std::lock_guard lock(mutex);
                       ++answered[{call, static_cast<int>(index)}];
                       used.push_back(std::move(answer.hold));
                     });
        if (random() % 10 == 0) reads->Drop(SessionId(thread), IterationId(call));
      }
    });
  }
  threads.emplace_back([&] {
    while (!over) {
      if (!store_->AnswerOne()) std::this_thread::yield();
    }
  });
  threads.emplace_back([&] {
    while (!over) {
      std::vector<std::shared_ptr<const void>> free;
      {
        const std::lock_guard lock(mutex);
        free.swap(used);
      }
      free.clear();
      std::this_thread::yield();
    }
  });
  for (int i = 0; i < 3; ++i) threads[static_cast<std::size_t>(i)].join();
  while (reads->open_rows() + reads->waiting_rows() > 0) std::this_thread::yield();
  over = true;
  for (std::size_t i = 3; i < threads.size(); ++i) threads[i].join();
  std::map<int, int> rows_of;
  for (const auto& [which, times] : answered) {
    EXPECT_EQ(times, 1) << "call " << which.first << " row " << which.second;
    rows_of[which.first] = std::max(rows_of[which.first], which.second + 1);
  }
  EXPECT_EQ(rows_of.size(), static_cast<std::size_t>(kCalls));
  std::size_t all = 0;
  for (const auto& [call, rows] : rows_of) all += static_cast<std::size_t>(rows);
  EXPECT_EQ(answered.size(), all);
  reads->Stop();
}

}  // namespace
}  // namespace headrace::dataworker
