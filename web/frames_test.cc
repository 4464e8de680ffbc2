#include "web/frames.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::web {
namespace {

using Json = nlohmann::json;

// What a page does with frames.
struct Reader {
  std::uint64_t frame = 0;
  std::map<std::string, std::map<std::string, Json>> tables;

  void Take(const Json& given) {
    ASSERT_EQ(given["format"], FrameMaker::kFormat);
    if (given["whole"] == false) {
      ASSERT_EQ(given["frame"], frame + 1);
    }
    frame = given["frame"];
    for (const char* name : {"jobs", "workers", "datasets"}) {
      auto& rows = tables[name];
      if (given["whole"] == true) rows.clear();
      for (const Json& row : given[name]["rows"]) rows[row[0].dump()] = row;
      for (const Json& key : given[name].value("gone", Json::array())) {
        ASSERT_EQ(rows.erase(key.dump()), 1u) << name << " " << key;
      }
      ASSERT_EQ(given[name]["of"], rows.size());
    }
  }
};

wire::WorkerStatus AWorker(std::int64_t id) {
  wire::WorkerStatus worker;
  worker.info.worker = WorkerId(id);
  worker.info.host.hostname = "host" + std::to_string(id);
  worker.info.cores = 4;
  worker.state = "ready";
  return worker;
}

TEST(FrameMakerTest, ALineHasTheWordsOfItsColumns) {
  PageState state;
  state.policy = "utilization";
  state.pool.name = "slurm";
  state.pool.reasons.push_back({"(Resources)", 3});
  wire::PoolStatus spot{.name = "spot", .kind = "slurm", .state = "held", .preemptible = true};
  spot.running = 2;
  spot.cost_per_hour = 0.16;
  spot.passed_over_seconds = 90;
  spot.trouble = Unavailable("exceeded quota").WithDetail(Detail::kQuota);
  spot.trouble_ms = 12'345;
  spot.trouble_stands = true;
  spot.what = "a quota is used up";
  spot.remedy = "have it raised";
  state.cluster.pools = {spot, {.name = "slurm", .kind = "slurm", .state = "usable"}};
  state.actions = {"drain"};
  wire::JobStatus job;
  job.job = JobId(17);
  job.name = "train \"x\"\n\xff";
  job.state = "running";
  job.samples_per_second = 1234.5678;
  job.granted_millicores = 1503;
  job.granted_local_millicores = 500;
  job.advice = "waits 41%: 30% decode";
  job.remaining_samples = 99;
  state.cluster.jobs.push_back(job);
  state.cluster.workers.push_back(AWorker(3));
  wire::DatasetStatus data;
  data.dataset = 0xfedcba9876543210;
  data.name = "ImageFolder(/data)";
  state.cluster.datasets.push_back(data);
  HistoryStep last;
  last.waits = {0, 25, 50, 0, 0, 0, 0};
  FrameMaker maker;
  maker.Take(state, [&](JobId id) { return id == JobId(17) ? &last : nullptr; });
  const Json frame = Json::parse(maker.Whole());
  EXPECT_EQ(frame["frame"], 1);
  EXPECT_EQ(frame["actions"], Json({"drain"}));
  EXPECT_EQ(frame["pool"]["name"], "slurm");
  EXPECT_EQ(frame["pool"]["reasons"], Json::parse(R"x([{"text":"(Resources)","members":3}])x"));
  const Json& pools = frame["pool"]["pools"];
  ASSERT_EQ(pools.size(), 2u);
  EXPECT_EQ(pools[0]["name"], "spot");
  EXPECT_EQ(pools[0]["preemptible"], true);
  EXPECT_EQ(pools[0]["running"], 2);
  EXPECT_EQ(pools[0]["cost_per_hour"], 0.16);
  EXPECT_EQ(pools[0]["passed_over_seconds"], 90);
  EXPECT_EQ(pools[0]["trouble"], Json({{"kind", "quota"},
                                       {"text", "exceeded quota"},
                                       {"what", "a quota is used up"},
                                       {"remedy", "have it raised"},
                                       {"seconds", 12},
                                       {"stands", true}}));
  EXPECT_EQ(pools[1]["trouble"], Json());
  EXPECT_EQ(frame["cluster"]["policy"], "utilization");
  EXPECT_EQ(frame["cluster"]["ready_cores"], 4);
  std::map<std::string, Json> row;
  for (const char* table : {"jobs", "workers", "datasets"}) {
    const Json& columns = frame[table]["columns"];
    ASSERT_EQ(columns.size(), frame[table]["rows"][0].size()) << table;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      row[std::string(table) + "." + columns[i].get<std::string>()] = frame[table]["rows"][0][i];
    }
  }
  EXPECT_EQ(row["jobs.job"], 17);
  EXPECT_EQ(row["jobs.name"], "train \"x\"\n\xEF\xBF\xBD");
  EXPECT_EQ(row["jobs.samples_per_second"], 1230);
  EXPECT_EQ(row["jobs.granted_cores"], 1.5);
  EXPECT_EQ(row["jobs.granted_local_cores"], 0.5);
  EXPECT_EQ(row["jobs.wait_shares"], Json({0, 0.1, 0.2, 0, 0, 0, 0}));
  EXPECT_EQ(row["jobs.remaining_samples"], 99);
  EXPECT_EQ(row["workers.hostname"], "host3");
  EXPECT_EQ(row["workers.busy_cores"], Json()) << "of one look no rate can be told";
  EXPECT_EQ(row["datasets.dataset"], "fedcba9876543210");
}

TEST(FrameMakerTest, AChangeHasWhatChangedAndNothingElse) {
  PageState state;
  for (int id = 0; id < 10; ++id) {
    wire::JobStatus job;
    job.job = JobId(id);
    state.cluster.jobs.push_back(job);
  }
  FrameMaker maker;
  maker.Take(state);
  state.cluster.jobs[4].advice = "waits 3%";
  state.cluster.jobs.erase(state.cluster.jobs.begin() + 7);
  maker.Take(state);
  const Json change = Json::parse(maker.Change());
  ASSERT_EQ(change["jobs"]["rows"].size(), 1u);
  EXPECT_EQ(change["jobs"]["rows"][0][0], 4);
  EXPECT_EQ(change["jobs"]["gone"], Json({7}));
  maker.Take(state);
  EXPECT_EQ(Json::parse(maker.Change())["jobs"], Json::parse(R"({"rows":[],"gone":[],"of":9})"));
}

TEST(FrameMakerTest, NumbersOfWorkersAreRenewedNowAndThenAndStatesAtOnce) {
  PageState state;
  for (int id = 0; id < 100; ++id) state.cluster.workers.push_back(AWorker(id));
  FrameMaker maker;
  std::size_t sent = 0;
  for (int second = 1; second <= 20; ++second) {
    state.cluster.wall_ms = 1000 * second;
    for (wire::WorkerStatus& worker : state.cluster.workers) {
      worker.last.cpu_seconds += 2.5;
      worker.last.samples += 1000;
      worker.last.cache_hits += 3;
      worker.last.cache_misses += 1;
    }
    maker.Take(state);
    if (second > 10) sent += Json::parse(maker.Change())["workers"]["rows"].size();
  }
  EXPECT_EQ(sent, 0u) << "rates stay what they are";
  Reader reader;
  reader.Take(Json::parse(maker.Whole()));
  const auto& columns = WorkerColumns();
  const auto at = [&](const char* name) {
    return static_cast<std::size_t>(std::find(columns.begin(), columns.end(), name) -
                                    columns.begin());
  };
  EXPECT_EQ(reader.tables["workers"]["17"][at("busy_cores")], 2.5);
  EXPECT_EQ(reader.tables["workers"]["17"][at("samples_per_second")], 1000);
  EXPECT_EQ(reader.tables["workers"]["17"][at("hit_share")], 0.75);
  for (wire::WorkerStatus& worker : state.cluster.workers) worker.last.resident_bytes += 1 << 30;
  state.cluster.workers[50].state = "draining";
  maker.Take(state);
  const Json rows = Json::parse(maker.Change())["workers"]["rows"];
  EXPECT_GE(rows.size(), 20u);
  EXPECT_LE(rows.size(), 21u) << "a fifth, and the one with another state";
  EXPECT_TRUE(std::any_of(rows.begin(), rows.end(), [](const Json& row) { return row[0] == 50; }));
}

// What a reader puts together from changes is what a whole frame says, whatever comes and goes.
TEST(FrameMakerTest, ChangesAddUpToTheWhole) {
  const unsigned seed = testing::UnitTest::GetInstance()->random_seed();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937 rng(seed);
  const auto draw = [&](int most) { return static_cast<int>(rng() % (most + 1)); };
  FrameMaker maker;
  Reader reader;
  for (int round = 0; round < 300; ++round) {
    PageState state;
    state.cluster.wall_ms = 1000 * round;
    for (int id = 0; id < 12; ++id) {
      if (draw(4) == 0) continue;
      wire::JobStatus job;
      job.job = JobId(id);
      job.name = draw(3) == 0 ? "a,b]\"" : "c";
      job.samples_per_second = draw(2);
      job.wait_share = draw(3) == 0 ? std::nan("") : 0.5;
      state.cluster.jobs.push_back(job);
      wire::WorkerStatus worker = AWorker(id);
      worker.state = draw(2) == 0 ? "lost" : "ready";
      worker.last.samples = rng();
      worker.last.cpu_seconds = draw(99);
      state.cluster.workers.push_back(worker);
      wire::DatasetStatus data;
      data.dataset = ~std::uint64_t{0} - static_cast<std::uint64_t>(id);
      data.hit_share = draw(2) / 2.0;
      state.cluster.datasets.push_back(data);
    }
    maker.Take(state);
    Reader whole;
    ASSERT_NO_FATAL_FAILURE(whole.Take(Json::parse(maker.Whole())));
    const bool missed = round == 0 || draw(9) == 0;
    ASSERT_NO_FATAL_FAILURE(reader.Take(Json::parse(missed ? maker.Whole() : maker.Change())));
    ASSERT_EQ(reader.tables, whole.tables);
    ASSERT_EQ(whole.tables["jobs"].size(), state.cluster.jobs.size());
  }
}

}  // namespace
}  // namespace headrace::web
