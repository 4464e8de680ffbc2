#include "coordinator/scaling/epoch_length.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace headrace::coordinator {
namespace {

wire::SessionLoad LoadOf(std::uint64_t id, double samples, std::uint64_t iterations) {
  wire::SessionLoad load;
  load.session = SessionId(id);
  load.samples = static_cast<std::uint64_t>(samples);
  load.iterations = iterations;
  return load;
}

TEST(EpochLength, IsNotKnownInTheFirstIteration) {
  EpochLength length;
  length.Report({LoadOf(1, 0, 1)});
  length.Report({LoadOf(1, 500, 1)});
  EXPECT_EQ(length.samples(), 0);
}

TEST(EpochLength, IsKnownToHalfAHeartbeatAndThenBetter) {
  std::mt19937_64 random(1234);
  for (int round = 0; round < 200; ++round) {
    const double epoch = std::uniform_real_distribution<double>(100, 20000)(random);
    const double rate = std::uniform_real_distribution<double>(10, 60)(random);
    EpochLength length;
    for (double samples = 0; samples < 6.5 * epoch; samples += rate) {
      const auto iterations = static_cast<std::uint64_t>(samples / epoch) + 1;
      length.Report({LoadOf(7, samples, iterations)});
      if (iterations < 2) continue;
      const double passed = static_cast<double>(iterations - 1);
      ASSERT_NEAR(length.samples(), epoch, (rate / 2 + 1) / passed) << "round " << round;
    }
  }
}

TEST(EpochLength, OfSeveralLoadersIsTheirSum) {
  EpochLength length;
  length.Report({LoadOf(1, 990, 1), LoadOf(2, 90, 1)});
  length.Report({LoadOf(1, 1010, 2), LoadOf(2, 110, 2)});
  EXPECT_EQ(length.samples(), 1100);
}

TEST(EpochLength, OfALoaderForEachEpochIsWhatTheLastOneGave) {
  EpochLength length;
  length.Report({LoadOf(1, 800, 1)});
  length.Report({LoadOf(2, 100, 1)});
  EXPECT_EQ(length.samples(), 800);
}

TEST(EpochLength, ALoaderThatIsFirstSeenLateTellsNothingYet) {
  EpochLength length;
  length.Report({LoadOf(1, 1900, 2)});
  EXPECT_EQ(length.samples(), 0) << "1900 samples of one whole iteration and a part of the next";
}

}  // namespace
}  // namespace headrace::coordinator
