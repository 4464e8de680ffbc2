#include "dataworker/share/read_window.h"

#include <map>
#include <random>
#include <vector>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

constexpr JobId kJob{1}, kOther{2}, kThird{3};

// Begins as many rows of the job as may begin.
int Fill(ReadWindow& window, JobId job, std::uint64_t expected) {
  int begun = 0;
  window.SetWaiting(job, true);
  while (window.MayBegin(job, expected)) {
    window.Begin(job, expected);
    ++begun;
  }
  return begun;
}

TEST(ReadWindow, BoundsBytesAndRows) {
  ReadWindow window({.bytes = 1000, .rows = 50});
  EXPECT_EQ(Fill(window, kJob, 100), 10);
  EXPECT_EQ(window.bytes(), 1000U);
  ReadWindow many({.bytes = 1000, .rows = 50});
  EXPECT_EQ(Fill(many, kJob, 1), 50);
  EXPECT_EQ(many.rows(), 50U);
}

TEST(ReadWindow, AJobMayAlwaysHaveOneRow) {
  ReadWindow window({.bytes = 10, .rows = 1});
  EXPECT_EQ(Fill(window, kJob, 1'000'000), 1);
  EXPECT_EQ(Fill(window, kOther, 1'000'000), 1);
}

TEST(ReadWindow, ALargerRowThanExpectedHoldsTheNextOnesBack) {
  ReadWindow window({.bytes = 1000, .rows = 50});
  EXPECT_EQ(Fill(window, kJob, 500), 2);
  window.Answer(kJob, 500, 5000, true);
  window.End(kJob, 500);
  EXPECT_EQ(window.bytes(), 5000U);
  EXPECT_FALSE(window.MayBegin(kJob, 0));
  window.End(kJob, 5000);
  EXPECT_TRUE(window.MayBegin(kJob, 0));
  EXPECT_EQ(window.bytes(), 0U);
}

TEST(ReadWindow, RowsCountAsMuchAsThoseBefore) {
  ReadWindow window({.bytes = 1 << 20, .rows = 50});
  window.SetWaiting(kJob, true);
  EXPECT_EQ(window.Expected(kJob), ReadWindow::kGuess);
  window.Begin(kJob, 100);
  window.Answer(kJob, 100, 3000, true);
  EXPECT_EQ(window.Expected(kJob), 3000U);
  window.Begin(kJob, 0);
  window.Answer(kJob, 0, 9, false);  // a header says nothing of samples
  window.SetWaiting(kJob, false);
  window.End(kJob, 3000);
  window.End(kJob, 9);
  EXPECT_EQ(window.Expected(kJob), 3000U) << "it comes back";
  EXPECT_EQ(window.Expected(kOther), ReadWindow::kGuess);
}

TEST(ReadWindow, JobsShareEvenlyAndALaterOneDoesNotWaitForTheEarlier) {
  ReadWindow window({.bytes = 1200, .rows = 600});
  EXPECT_EQ(Fill(window, kJob, 10), 120);
  EXPECT_EQ(Fill(window, kOther, 10), 60);
  EXPECT_EQ(Fill(window, kThird, 10), 40);
  EXPECT_LE(window.bytes(), 2400U);
  for (int i = 0; i < 80; ++i) {
    EXPECT_FALSE(window.MayBegin(kJob, 10)) << i;
    window.End(kJob, 10);
  }
  window.End(kJob, 10);
  EXPECT_TRUE(window.MayBegin(kJob, 10));
  // What a job leaves is the others'.
  window.SetWaiting(kThird, false);
  for (int i = 0; i < 40; ++i) window.End(kThird, 10);
  EXPECT_EQ(Fill(window, kJob, 10), 21);
}

// Any sequence: never more than twice the limits, and what has ended leaves nothing.
TEST(ReadWindow, RandomSequencesStayWithinTheBounds) {
  const unsigned seed = std::random_device()();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 random(seed);
  constexpr ReadWindow::Limits kLimits{.bytes = 5000, .rows = 20};
  ReadWindow window(kLimits);
  std::map<JobId, std::vector<std::uint64_t>> open;
  for (int step = 0; step < 20'000; ++step) {
    const JobId job(static_cast<std::int64_t>(random() % 5));
    const std::uint64_t expected = random() % 600;
    if (random() % 2 == 0) {
      window.SetWaiting(job, true);
      const bool first = open[job].empty();
      ASSERT_TRUE(!first || window.MayBegin(job, expected));
      if (window.MayBegin(job, expected)) {
        window.Begin(job, expected);
        open[job].push_back(expected);
        ASSERT_TRUE(first || (window.bytes() <= 2 * kLimits.bytes && window.rows() <= 40));
      }
      if (random() % 2 == 0) window.SetWaiting(job, false);
    } else if (!open[job].empty()) {
      window.End(job, open[job].back());
      open[job].pop_back();
    }
  }
  for (auto& [job, rows] : open) {
    window.SetWaiting(job, false);
    for (const std::uint64_t bytes : rows) window.End(job, bytes);
  }
  EXPECT_EQ(window.bytes(), 0U);
  EXPECT_EQ(window.rows(), 0U);
}

}  // namespace
}  // namespace headrace::dataworker
