#include "dataworker/cache/fetch_gate.h"

#include <vector>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

const JobId kA(1), kB(2);

TEST(FetchGate, OneJobsFetchesWaitForItsOwnPlacesOnly) {
  const auto gate = std::make_shared<FetchGate>(2);
  std::vector<FetchGate::Place> a, b;
  for (int i = 0; i < 5; ++i) {
    gate->Enter(kA, [&](FetchGate::Place place) { a.push_back(std::move(place)); });
  }
  EXPECT_EQ(a.size(), 2U);
  gate->Enter(kB, [&](FetchGate::Place place) { b.push_back(std::move(place)); });
  EXPECT_EQ(b.size(), 1U);
  a[0].reset();
  EXPECT_EQ(a.size(), 3U);
  b[0].reset();
  EXPECT_EQ(a.size(), 3U);
  gate->Close();  // so that nothing begins while `a` goes
}

TEST(FetchGate, FetchesThatEndAtOnceDoNotNest) {
  const auto gate = std::make_shared<FetchGate>(1);
  FetchGate::Place first;
  int depth = 0, deepest = 0, begun = 0;
  gate->Enter(kA, [&](FetchGate::Place place) { first = std::move(place); });
  for (int i = 0; i < 100'000; ++i) {
    gate->Enter(kA, [&](FetchGate::Place place) {
      deepest = std::max(deepest, ++depth);
      ++begun;
      place.reset();
      --depth;
    });
  }
  EXPECT_EQ(begun, 0);
  first.reset();
  EXPECT_EQ(begun, 100'000);
  EXPECT_EQ(deepest, 1);
}

TEST(FetchGate, CloseBeginsAllThatWaitsAndWhatComesLater) {
  const auto gate = std::make_shared<FetchGate>(1);
  std::vector<FetchGate::Place> places;
  for (int i = 0; i < 5; ++i) {
    gate->Enter(kA, [&](FetchGate::Place place) { places.push_back(std::move(place)); });
  }
  EXPECT_EQ(places.size(), 1U);
  gate->Close();
  EXPECT_EQ(places.size(), 5U);
  gate->Enter(kB, [&](FetchGate::Place place) { places.push_back(std::move(place)); });
  gate->Enter(kB, [&](FetchGate::Place place) { places.push_back(std::move(place)); });
  EXPECT_EQ(places.size(), 7U);
}

TEST(FetchGate, APlaceMayOutliveItsOwner) {
  auto gate = std::make_shared<FetchGate>(1);
  FetchGate::Place place;
  gate->Enter(kA, [&](FetchGate::Place given) { place = std::move(given); });
  gate.reset();
  place.reset();
}

}  // namespace
}  // namespace headrace::dataworker
