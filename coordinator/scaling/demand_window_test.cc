#include "coordinator/scaling/demand_window.h"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace headrace::coordinator {
namespace {

WorkPoint Point(double samples, double step_s, double buffer = 0) {
  return {samples, step_s, {samples / step_s, 0, 0.01, 1e5}, buffer, buffer};
}
DemandWindow WindowOf(const std::vector<WorkPoint>& points) {
  DemandWindow window;
  for (const WorkPoint& point : points) window.Add(point);
  return window;
}

TEST(DemandWindow, SteadyPointsNeedTheirRate) {
  const DemandWindow window = WindowOf({Point(100, 1), Point(50, 0.5), Point(100, 1)});
  EXPECT_NEAR(window.NeededRate(), 100, 0.05);
  EXPECT_NEAR(window.Needed().miss_cost, 0.01, 1e-12);
  EXPECT_NEAR(window.Needed().miss_bytes, 1e5, 1e-6);
  EXPECT_EQ(window.Noise(1, 0, 1), 0);
}

// 300 samples in 3 s, then 6 s without any: a third of the speed is enough if 200 can be ready.
TEST(DemandWindow, ABurstNeedsWhatTheBufferDoesNotHold) {
  for (const auto& [buffer, low, high] :
       {std::array{200.0, 33.0, 34.0}, std::array{300.0, 33.0, 34.0}, std::array{90.0, 67.0, 71.0},
        std::array{0.0, 95.0, 100.0}}) {
    DemandWindow window;
    for (int i = 0; i < 8; ++i) {
      window.Add(Point(100, 7, buffer));
      window.Add(Point(100, 1, buffer));
      window.Add(Point(100, 1, buffer));
    }
    EXPECT_GE(window.NeededRate(), low) << buffer;
    EXPECT_LE(window.NeededRate(), high) << buffer;
  }
}

TEST(DemandWindow, OneOddPointInEightCountsAsTheNext) {
  DemandWindow window;
  for (int i = 0; i < 24; ++i) window.Add(Point(i % 8 == 3 ? 1000 : 100, 1));
  EXPECT_NEAR(window.NeededRate(), 100, 0.05);
  EXPECT_EQ(window.Noise(1, 0, 1), 0);
  EXPECT_FALSE(window.Lacked(8, {1.01, 0, 1}, 0));
  EXPECT_TRUE(window.Lacked(8, {0.9, 0, 1}, 0));
}

// A pause that the buffer cannot use lowers no mean.
TEST(DemandWindow, APauseIsNoInformation) {
  DemandWindow window;
  for (int i = 0; i < 40; ++i) window.Add(Point(100, i % 20 == 10 ? 31 : 1, 50));
  EXPECT_NEAR(window.NeededRate(), 100, 4);
  EXPECT_FALSE(window.Sufficed(20, {0.85, 0, 1}));
  EXPECT_TRUE(window.Sufficed(20, {1.0, 0, 1}));
}

TEST(DemandWindow, AStepShowsInTwoPoints) {
  DemandWindow window;
  for (int i = 0; i < 20; ++i) window.Add(Point(100, 1));
  window.Add(Point(400, 1));
  EXPECT_FALSE(window.Lacked(2, {1.02, 0, 1}, 0));
  window.Add(Point(400, 1));
  EXPECT_TRUE(window.Lacked(2, {1.02, 0, 1}, 0));
  EXPECT_TRUE(window.Lacked(2, {3.8, 0, 1}, 0));
  EXPECT_FALSE(window.Lacked(2, {4.0, 0, 1}, 0));
  window.KeepLast(2);
  EXPECT_EQ(window.points_of_regime(), 2U);
  EXPECT_NEAR(window.NeededRate(), 400, 0.2);
}

// What was ready before counts, and what may be ready.
TEST(DemandWindow, AFullBufferCarriesTwoPoints) {
  DemandWindow window;
  window.Add(Point(100, 1, 600));
  window.Add(Point(400, 1, 600));
  window.Add(Point(400, 1, 600));
  EXPECT_FALSE(window.Lacked(2, {1.02, 0, 1}, 0));
}

TEST(DemandWindow, HoldsTheLastSixty) {
  DemandWindow window;
  for (int i = 0; i < 100; ++i) window.Add(Point(i < 40 ? 1000 : 100, 1));
  EXPECT_EQ(window.size(), DemandWindow::kMost);
  EXPECT_NEAR(window.NeededRate(), 100, 0.05);
}

}  // namespace
}  // namespace headrace::coordinator
