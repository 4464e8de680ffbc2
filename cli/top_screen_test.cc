#include "cli/top_screen.h"

#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::cli {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> LinesOf(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

wire::ClusterStatus OfJobs(int count) {
  wire::ClusterStatus now;
  now.version = "0.1.0";
  for (int i = 0; i < count; ++i) {
    wire::JobStatus job;
    job.job = JobId(28'771'234'000 + i);
    job.name = "train_with_a_long_name_" + std::to_string(i) + ".py";
    job.hostname = "gpu-node-with-a-long-name-" + std::to_string(i);
    job.state = "running";
    job.wait_share = (i * 7 % count) / static_cast<double>(count);
    job.samples_per_second = 100.0 * i;
    job.remaining_samples = 1'000'000;
    job.granted_millicores = 123'456;
    job.demand_millicores = 234'567;
    job.sessions.emplace_back().samples = 5;
    job.advice = "waits " + std::to_string(i) + "%: more cores would not help";
    now.jobs.push_back(job);
  }
  return now;
}

TEST(TopScreenTest, FitsATerminalOf80By24) {
  TopScreen screen;
  const auto lines = LinesOf(screen.Paint("tcp://head:7070", OfJobs(1000), nullptr, {80, 24}));
  ASSERT_EQ(lines.size(), 24u);
  for (const std::string& line : lines) EXPECT_LE(line.size(), 80u) << line;
  EXPECT_THAT(lines[0], StartsWith("headrace 0.1.0  tcp://head:7070  1000 jobs"));
  for (const char* name : {"JOB", "NAME", "HOST", "STATE", "CORES", "WAITv", "SAMP/S", "LEFT"}) {
    EXPECT_THAT(lines[1], HasSubstr(name));
  }
  EXPECT_THAT(lines[23], StartsWith("jobs, page 1 of 72   q quit"));
  EXPECT_THAT(lines[2], HasSubstr("100%")) << "who waits most is first";
  EXPECT_THAT(lines[2], testing::Not(HasSubstr("28771"))) << "ids are short";
  EXPECT_THAT(lines[22], HasSubstr("waits")) << "and is told what would help";
}

TEST(TopScreenTest, KeysTurnPagesOrderAndSwitch) {
  TopScreen screen;
  const wire::ClusterStatus now = OfJobs(100);
  const auto paint = [&] {
    return LinesOf(screen.Paint("tcp://head:7070", now, nullptr, {80, 24}));
  };
  const std::string first = paint()[2];
  EXPECT_TRUE(screen.Key(' '));
  EXPECT_NE(paint()[2], first);
  EXPECT_TRUE(screen.Key('b'));
  EXPECT_EQ(paint()[2], first);
  EXPECT_TRUE(screen.Key('b')) << "before the first page is none";
  EXPECT_EQ(paint()[2], first);
  for (int i = 0; i < 99; ++i) EXPECT_TRUE(screen.Key(' '));
  EXPECT_THAT(paint()[23], HasSubstr("page 8 of 8"));
  EXPECT_TRUE(screen.Key('g'));
  EXPECT_TRUE(screen.Key('r'));
  EXPECT_THAT(paint()[1], HasSubstr("WAIT^"));
  EXPECT_THAT(paint()[2], HasSubstr(" 0%"));
  EXPECT_TRUE(screen.Key('s'));
  EXPECT_THAT(paint()[1], HasSubstr("SAMP/S^"));
  EXPECT_TRUE(screen.Key('S'));
  EXPECT_TRUE(screen.Key('\t'));
  EXPECT_THAT(paint()[2], HasSubstr("no workers"));
  EXPECT_FALSE(screen.Key('q'));
}

TEST(TopScreenTest, RatesOfWorkersAreOfTheTimeBetweenTwoAnswers) {
  wire::ClusterStatus before, now;
  now.wall_ms = 2000;
  wire::WorkerStatus worker;
  worker.info.worker = WorkerId(3);
  worker.info.cores = 4;
  worker.state = "ready";
  before.workers.push_back(worker);
  worker.last.cpu_seconds = 3;
  worker.last.samples = 500;
  now.workers.push_back(worker);
  TopScreen screen;
  screen.Key('\t');
  const auto lines = LinesOf(screen.Paint("a", now, &before, {80, 24}));
  EXPECT_THAT(lines[2], HasSubstr("1.5/4"));
  EXPECT_THAT(lines[2], HasSubstr(" 250 "));
}

TEST(TopScreenTest, ArrowsAreNoKeysOfOurs) {
  EXPECT_EQ(KeysIn("sq"), "sq");
  EXPECT_EQ(KeysIn("\x1b[Cq"), "q");
  EXPECT_EQ(KeysIn("s\x1b[5~r\x1bOSg\x1b[1;5Db"), "srgb");
  EXPECT_EQ(KeysIn("\x1b"), "");
  EXPECT_EQ(KeysIn("\x1b[1;"), "");
}

TEST(TopScreenTest, ShortIdsDifferInWhatIsLeft) {
  EXPECT_EQ(CommonDigits({}), 0u);
  EXPECT_EQ(CommonDigits({17}), 0u);
  EXPECT_EQ(CommonDigits({28771234567}), 8u);
  EXPECT_EQ(CommonDigits({28771234567, 28771234568}), 8u);
  EXPECT_EQ(CommonDigits({28771234567, 28771334567}), 5u);
  EXPECT_EQ(CommonDigits({9, 10}), 0u);
}

// Whatever names there are and however small the terminal is: nothing beyond its edges, and no control character.
TEST(TopScreenTest, NothingLeavesTheScreen) {
  const unsigned seed = testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 rng(seed);
  for (int round = 0; round < 300; ++round) {
    wire::ClusterStatus now = OfJobs(1 + static_cast<int>(rng() % 40));
    for (wire::JobStatus& job : now.jobs) {
      job.name.clear();
      for (auto length = rng() % 50; length > 0; --length) {
        job.name += rng() % 3 == 0 ? "\xC3\xA9" : std::string(1, static_cast<char>(rng() % 127));
      }
    }
    TopScreen screen;
    for (auto keys = rng() % 10; keys > 0; --keys) screen.Key("\tsSr bgx"[rng() % 8]);
    const TopScreen::Size size{rng() % 120, 1 + rng() % 40};
    const std::string page = screen.Paint("tcp://head:7070", now, nullptr, size);
    const auto lines = LinesOf(page);
    ASSERT_LE(lines.size(), size.rows);
    for (const std::string& line : lines) {
      std::size_t width = 0;
      for (const char c : line) {
        width += (static_cast<unsigned char>(c) & 0xC0) != 0x80 ? 1 : 0;
        ASSERT_TRUE(static_cast<unsigned char>(c) >= ' ' && c != '\x7f');
      }
      ASSERT_LE(width, size.columns);
    }
  }
}

}  // namespace
}  // namespace headrace::cli
