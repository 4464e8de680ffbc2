#include "dataworker/share/idle_cores.h"

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using std::chrono::milliseconds;

class IdleCoresTest : public ::testing::Test {
 protected:
  // So many seconds later, of which `idle` and `own` went by.
  void Pass(double took, double idle, double own, std::vector<ProcessorUse::Group> groups = {}) {
    now_ += std::chrono::duration_cast<Duration>(std::chrono::duration<double>(took));
    idle_ += idle;
    own_ += own;
    cores_.See(now_, ProcessorUse{.idle_seconds = idle_, .groups = std::move(groups)}, own_);
  }
  SteadyTime now_{};
  double idle_ = 1e6, own_ = 3;
  IdleCores cores_;
};

TEST_F(IdleCoresTest, NobodyKnowsBeforeTwoLooks) {
  EXPECT_TRUE(cores_.WantsLook(now_));
  Pass(0, 0, 0);
  EXPECT_EQ(cores_.free(now_), 0);
  EXPECT_FALSE(cores_.WantsLook(now_ + milliseconds(199)));
  EXPECT_TRUE(cores_.WantsLook(now_ + milliseconds(200)));
}

TEST_F(IdleCoresTest, WhatIdlesAndWhatRunsOnlyThereIsFree) {
  Pass(0, 0, 0);
  Pass(0.2, 0.19, 0);
  EXPECT_EQ(cores_.free(now_), 1);
  Pass(0.2, 0.01, 0.18);
  EXPECT_EQ(cores_.free(now_), 1) << "it has the core itself";
  Pass(0.2, 0.01, 0.02);
  EXPECT_EQ(cores_.free(now_), 0) << "others have it now";
  Pass(0.2, 2.9, 0.1);
  EXPECT_EQ(cores_.free(now_), 15);
  Pass(0.2, 0.09, 0);
  EXPECT_EQ(cores_.free(now_), 0) << "less than half of one";
}

TEST_F(IdleCoresTest, AQuotaBoundsItWhateverTheHostHas) {
  Pass(0, 0, 0, {{.cpus = 2, .used_seconds = 50}});
  Pass(0.2, 3.0, 0, {{.cpus = 2, .used_seconds = 50.2}});
  EXPECT_EQ(cores_.free(now_), 1);
  Pass(0.2, 3.0, 0.2, {{.cpus = 2, .used_seconds = 50.6}});
  EXPECT_EQ(cores_.free(now_), 1) << "the other half of the quota is its own";
  Pass(0.2, 3.0, 0, {{.cpus = 2, .used_seconds = 51.1}});
  EXPECT_EQ(cores_.free(now_), 0);
  Pass(0.2, 3.0, 0, {});
  EXPECT_EQ(cores_.free(now_), 0) << "moved to another group: what it used there says nothing";
}

TEST_F(IdleCoresTest, WhatNobodyHasLookedAtForAWhileDoesNotHold) {
  Pass(0, 0, 0);
  Pass(0.2, 0.2, 0);
  EXPECT_EQ(cores_.free(now_ + milliseconds(1000)), 1);
  EXPECT_EQ(cores_.free(now_ + milliseconds(1001)), 0);
  Pass(60, 60, 0);
  EXPECT_EQ(cores_.free(now_), 0) << "of a minute ago";
  cores_.See(now_ + milliseconds(200), std::nullopt, own_);
  EXPECT_EQ(cores_.free(now_ + milliseconds(200)), 0);
  Pass(0.4, 0.4, 0);
  EXPECT_EQ(cores_.free(now_), 0) << "the look before it is missing";
}

}  // namespace
}  // namespace headrace::dataworker
