#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "cli/dataset_orders.h"
#include "cli/show.h"

namespace headrace::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

wire::ClusterStatus CachedExample() {
  wire::ClusterStatus status;
  wire::WorkerStatus worker;
  worker.info.worker = WorkerId(1);
  worker.info.host = {"node1", "boot", 0, 99};
  worker.info.tiers = {{"memory", 1000}};
  worker.last.tiers = {{"memory", 900, 9, 1, 3}};
  status.workers = {worker};
  wire::DatasetStatus dataset{.dataset = 77,
                              .name = "ImageFolder(/data/train)",
                              .form = "decoded",
                              .rows = 1000,
                              .bytes = 2048,
                              .jobs = {JobId(3), JobId(4)},
                              .parts = {},
                              .phase = "filling",
                              .hit_share = 0.25,
                              .hit_when_full = 0.5};
  dataset.parts = {{.worker = WorkerId(1),
                    .quota_bytes = 1024,
                    .bytes = 900,
                    .entries = 9,
                    .hits = 1,
                    .misses = 3}};
  status.datasets = {dataset};
  return status;
}

TEST(ShowCache, WhatIsCachedWhere) {
  EXPECT_EQ(CacheTable(CachedExample()),
            "WORKER  HOST   TIER    SIZE  USED  GRANTED  ENTRIES  HITS\n"
            "     1  node1  memory  1000   900     1.0K        9   25%\n"
            "\n"
            "WORKER  DATA SET                  FORM     QUOTA  CACHED  ENTRIES  HITS  JOBS\n"
            "     1  ImageFolder(/data/train)  decoded   1.0K     900        9   25%   3,4\n");
  EXPECT_EQ(CacheTable({}), "no caches\n");
  const auto json = nlohmann::json::parse(CacheJson(CachedExample()));
  EXPECT_EQ(json["workers"][0]["granted_bytes"], 1024);
  EXPECT_EQ(json["workers"][0]["tiers"][0]["budget_bytes"], 1000);
  EXPECT_EQ(json["workers"][0]["datasets"][0]["bytes"], 900);
}

TEST(ShowCache, TheDataSetsOfJobs) {
  EXPECT_EQ(DatasetsTable(CachedExample()),
            "DATA SET                  SAMPLES  SIZE  CACHED  QUOTA  PINNED  FORM     PHASE    "
            "HITS  LATER  TWICE  REPLICAS  JOBS\n"
            "ImageFolder(/data/train)     1000  2.0K     900   1.0K       -  decoded  filling   "
            "25%    50%      -         -   3,4\n");
  wire::ClusterStatus ordered = CachedExample();
  ordered.datasets[0].pinned = ordered.datasets[0].warm = true;
  EXPECT_THAT(DatasetsTable(ordered), HasSubstr("all     decoded  filling, warm"));
  ordered.datasets[0].pinned_bytes = 4096;
  ordered.datasets[0].dropping = 2;
  EXPECT_THAT(DatasetsTable(ordered), HasSubstr("4.0K  decoded  dropping"));
  const auto told = nlohmann::json::parse(DatasetsJson(ordered))["datasets"][0];
  EXPECT_EQ(told["dataset"], "000000000000004d");
  EXPECT_EQ(told["pinned_bytes"], 4096);
  EXPECT_EQ(told["workers_to_drop_it"], 2);
  ordered.datasets[0].sampled_entries = 300;
  ordered.datasets[0].duplicate_share = 0.12;
  EXPECT_THAT(DatasetsTable(ordered), HasSubstr("50%    12%         -   3,4"))
      << "all were counted";
  ordered.datasets[0].duplicate_share_error = 0.034;
  EXPECT_THAT(DatasetsTable(ordered), HasSubstr("50%  12%+-3%         -   3,4"));
  ordered.datasets[0].replica_bytes = 3 << 20;
  ordered.datasets[0].replica_hits = 12;
  EXPECT_THAT(DatasetsTable(ordered), HasSubstr("12%+-3%      3.0M   3,4"));
  EXPECT_EQ(nlohmann::json::parse(DatasetsJson(ordered))["datasets"][0]["replica_hits"], 12);
  const auto counted = nlohmann::json::parse(DatasetsJson(ordered))["datasets"][0];
  EXPECT_EQ(counted["duplicate_share"], 0.12);
  EXPECT_EQ(counted["duplicate_share_error"], 0.034);
  EXPECT_EQ(counted["sampled_entries"], 300);
  EXPECT_EQ(DatasetsTable({}), "no data sets\n");
  const auto json = nlohmann::json::parse(DatasetsJson(CachedExample()));
  EXPECT_EQ(json["datasets"][0]["cached_bytes"], 900);
  EXPECT_EQ(json["datasets"][0]["jobs"].dump(), "[3,4]");
  // A coordinator names what it wants: it must not steer the terminal.
  wire::ClusterStatus bad = CachedExample();
  bad.datasets[0].name = "a\x1b[2J";
  EXPECT_THAT(DatasetsTable(bad) + CacheTable(bad), Not(HasSubstr("\x1b")));
}

TEST(ShowCache, WhatAnOrderDid) {
  const wire::DatasetOrdered done{.request = 1,
                                  .status = {},
                                  .dataset = 77,
                                  .name = "train\x1b[2J",
                                  .text = "2 workers give up 0.4 GB of it",
                                  .workers = 2};
  EXPECT_THAT(OrderText(done, 0), HasSubstr("2 workers give up 0.4 GB of it\n"));
  EXPECT_THAT(OrderText(done, 0), Not(HasSubstr("\x1b")));
  EXPECT_THAT(OrderText(done, 1), HasSubstr("1 workers have not done it yet"));
  const auto json = nlohmann::json::parse(OrderJson(done, 1));
  EXPECT_EQ(json["dataset"], "000000000000004d");
  EXPECT_EQ(json["workers_left"], 1);
}

}  // namespace
}  // namespace headrace::cli
