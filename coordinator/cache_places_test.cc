#include "coordinator/cache_places.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/cache_peers.h"

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

wire::WorkerInfo Info(std::int64_t id, const std::string& host, std::uint64_t cache_bytes = 100) {
  wire::WorkerInfo info;
  info.worker = WorkerId(id);
  info.endpoints = {"tcp://10.0.0.1:1"};
  info.host = {.hostname = host, .boot_id = host, .uid = 7, .pid = 1};
  info.version = "1";
  info.cache_bytes = cache_bytes;
  return info;
}

TEST(CachePlaces, WorkersOfOneHostUserAndReleaseAreOne) {
  constexpr double kLarge = 1e6;
  const auto name = [&](const wire::WorkerInfo& info) { return CacheHostOf(info, kLarge, false); };
  const wire::WorkerInfo one = Info(1, "a");
  EXPECT_EQ(name(one), name(Info(2, "a")));
  EXPECT_NE(name(one), name(Info(2, "b")));
  auto other = Info(2, "a");
  other.host.uid = 8;
  EXPECT_NE(name(one), name(other)) << "another user";
  other = Info(2, "a");
  other.version = "2";
  EXPECT_NE(name(one), name(other)) << "another release";
  other = Info(2, "a");
  other.host.boot_id.clear();
  EXPECT_NE(name(other), name(one));
  auto unknown = Info(3, "a");
  unknown.host.boot_id.clear();
  EXPECT_NE(name(other), name(unknown)) << "nobody knows whether they are on one host";
}

TEST(CachePlaces, SmallSamplesStayWhereTheyAreMade) {
  EXPECT_NE(CacheHostOf(Info(1, "a"), 60e3, false), CacheHostOf(Info(2, "a"), 60e3, false));
  auto one = Info(1, "a"), two = Info(2, "a");
  one.share_from_bytes = two.share_from_bytes = 0;
  EXPECT_EQ(CacheHostOf(one, 60e3, false), CacheHostOf(two, 60e3, false));
}

// Owners are drawn: of 100 entries a worker may own 30 more than its part.
TEST(CachePlaces, WorkersThatShareHaveSlackOfThreeDeviations) {
  CachePlaces places(10, false);  // bytes an entry
  auto one = Info(1, "a", 5000), two = Info(2, "a", 5000), alone = Info(3, "b", 5000);
  for (wire::WorkerInfo* info : {&one, &two, &alone}) {
    info->share_from_bytes = 0;
    places.Add(0, *info, 1000, 1e9);
  }
  const std::vector<double> by_host = {2000, 1000};
  EXPECT_DOUBLE_EQ(places.BytesOn(one.worker, by_host), 1000);
  EXPECT_DOUBLE_EQ(places.SlackOn(one.worker, by_host), 300);
  EXPECT_DOUBLE_EQ(places.SlackOn(two.worker, by_host), 300);
  EXPECT_DOUBLE_EQ(places.SlackOn(alone.worker, by_host), 0) << "it owns all";
  EXPECT_DOUBLE_EQ(places.SlackOn(WorkerId(9), by_host), 0);
  places.Add(1, one, 1000, 1e9);  // the jobs of a worker have equal parts
  EXPECT_DOUBLE_EQ(places.SlackOn(one.worker, by_host), 150);
}

TEST(CachePlaces, AHostsRoomAndBatchesAreThoseOfItsWorkers) {
  CachePlaces places(1e6, false);
  places.Add(0, Info(1, "a", 300), 1000, 1e9);
  places.Add(0, Info(2, "a", 100), 500, 1e9);
  places.Add(1, Info(2, "a", 100), 500, 1e9);
  places.Add(1, Info(3, "b", 200), 3000, 150);
  EXPECT_THAT(places.hosts(), ElementsAre(CacheHost{2000, 400}, CacheHost{3000, 150}));
  EXPECT_THAT(places.Served(0), ElementsAre(1500, 0));
  EXPECT_THAT(places.Served(1), ElementsAre(500, 3000));
  EXPECT_THAT(places.Served(2), IsEmpty());
  const std::vector<double> by_host = {80, 30};
  EXPECT_DOUBLE_EQ(places.BytesOn(WorkerId(1), by_host), 60);
  EXPECT_DOUBLE_EQ(places.BytesOn(WorkerId(2), by_host), 10) << "for each of two jobs";
  EXPECT_DOUBLE_EQ(places.BytesOn(WorkerId(3), by_host), 30);
  EXPECT_DOUBLE_EQ(places.BytesOn(WorkerId(4), by_host), 0);
}

}  // namespace
}  // namespace headrace::coordinator
