#include "web/metrics_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>

#include "schemas/wire/data.h"

namespace headrace::web {
namespace {

using testing::HasSubstr;
using testing::MatchesRegex;
using testing::Not;

wire::ClusterStatus Example() {
  wire::ClusterStatus status;
  status.coordinator_cpu_seconds = 0.25;
  wire::JobStatus job;
  job.job = JobId(3);
  job.name = "train.py";
  job.granted_millicores = 1500;
  job.totals.samples = 300;
  job.totals.stall_source_ns = 250'000'000;
  for (const std::int64_t session : {5, 6}) {
    wire::SessionLoad load{.session = SessionId(session)};
    load.stall_ns = 1'250'000'000;
    load.samples = (std::uint64_t{1} << 60) + 1;  // more than a double holds
    job.sessions.push_back(load);
  }
  status.jobs = {job};
  wire::WorkerStatus worker;
  worker.info.worker = WorkerId(1);
  worker.last.resident_bytes = 300;
  worker.last.usage = {{.job = JobId(3), .cpu_ns = 500'000'000}};
  status.workers = {worker};
  status.pools = {{.name = "spot", .kind = "slurm", .state = "usable"}};
  return status;
}

TEST(MetricsText, HasValuesInBaseUnits) {
  const std::string text = MetricsText(Example());
  for (const char* line : {
           "# HELP headrace_session_stall_seconds_total time in next()\n"
           "# TYPE headrace_session_stall_seconds_total counter\n"
           "headrace_session_stall_seconds_total{job_id=\"3\",session_id=\"5\"} 1.25\n"
           "headrace_session_stall_seconds_total{job_id=\"3\",session_id=\"6\"} 1.25\n",
           "# TYPE headrace_job_samples_total counter\nheadrace_job_samples_total{job_id=\"3\"} "
           "300\n",
           // One metric, so one head.
           "# TYPE headrace_job_stall_seconds_total counter\n"
           "headrace_job_stall_seconds_total{job_id=\"3\",cause=\"sampler\"} 0\n"
           "headrace_job_stall_seconds_total{job_id=\"3\",cause=\"source\"} 0.25\n",
           "headrace_coordinator_cpu_seconds_total 0.25\n",
           "headrace_job_granted_cores{job_id=\"3\"} 1.5\n",
           "headrace_session_samples_total{job_id=\"3\",session_id=\"5\"} 1152921504606846977\n",
           "# TYPE headrace_worker_resident_bytes gauge\n"
           "headrace_worker_resident_bytes{worker_id=\"1\"} 300\n",
           "headrace_worker_job_cpu_seconds_total{worker_id=\"1\",job_id=\"3\"} 0.5\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

// A line with a value, as POSIX reads it: a backslash in brackets is itself.
constexpr char kSample[] =
    R"re(headrace_[a-z_]+([{][a-z_]+="([^"\]|\\["\])*"(,[a-z_]+="([^"\]|\\["\])*")*[}])? [0-9][0-9.e+-]*)re";

// What a parser of the format asks: two lines of head, then all lines of the metric, and no other
// characters.
TEST(MetricsText, IsWhatParsersTake) {
  auto status = Example();
  status.jobs[0].name = "a \"b\" \\ c\n\x1b[2J \xff";
  std::istringstream lines(MetricsText(status));
  std::set<std::string> families;
  std::string family;
  bool typed = true;
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string hash, keyword, name, kind;
    words >> hash >> keyword >> name >> kind;
    if (keyword == "HELP") {
      EXPECT_THAT(line, MatchesRegex(R"(# HELP headrace_[a-z_]+ [^\]+)"));
      EXPECT_TRUE(families.insert(name).second) << "twice: " << line;
      family = name;
      typed = false;
    } else if (keyword == "TYPE") {
      EXPECT_THAT(line, MatchesRegex("# TYPE headrace_[a-z_]+ (counter|gauge)"));
      EXPECT_EQ(name, family);
      EXPECT_EQ(kind == "counter", family.ends_with("_total")) << line;
      typed = true;
    } else {
      ASSERT_THAT(line, MatchesRegex(kSample));
      EXPECT_EQ(line.substr(0, line.find_first_of("{ ")), family) << line;
      EXPECT_TRUE(typed);
    }
  }
  EXPECT_GT(families.size(), 60u);
  EXPECT_THAT(MetricsText(status), HasSubstr(R"(name="a \"b\" \\ c\\x0a\\x1b[2J \\xff")"));
}

TEST(MetricsText, WhatWasNotMeasuredIsLeftOut) {
  auto status = Example();
  EXPECT_THAT(MetricsText(status), Not(HasSubstr("idle_seconds")));
  status.jobs[0].sessions[1].idle_known = true;
  EXPECT_THAT(MetricsText(status),
              HasSubstr("_idle_seconds_total{job_id=\"3\",session_id=\"6\"} 0\n"));
  EXPECT_THAT(MetricsText({}), Not(HasSubstr("headrace_job")));
}

TEST(MetricsText, DuplicatesOfADataSetAreToldOnceTheyAreKnown) {
  wire::ClusterStatus status;
  status.datasets = {{.dataset = 77,
                      .name = "train",
                      .form = {},
                      .jobs = {},
                      .parts = {},
                      .phase = {},
                      .tenant = {}}};
  EXPECT_THAT(MetricsText(status), Not(HasSubstr("duplicate_share")));
  status.datasets[0].duplicate_share = 0.25;
  status.datasets[0].duplicate_share_error = 0.03;
  status.datasets[0].sampled_entries = 300;
  const std::string labels = "{dataset=\"000000000000004d\",name=\"train\"} ";
  const std::string text = MetricsText(status);
  EXPECT_THAT(text, HasSubstr("headrace_dataset_duplicate_share" + labels + "0.25\n"));
  EXPECT_THAT(text, HasSubstr("headrace_dataset_duplicate_share_error" + labels + "0.03\n"));
  EXPECT_THAT(text, HasSubstr("headrace_dataset_sampled_entries" + labels + "300\n"));
}

// A name of the table ends as its unit asks. So the rules of ShownName hold for it.
template <typename T>
void CheckNames() {
  std::set<std::string> names;
  T::EachMetric([&](const Metric& metric, auto) {
    const std::string name(metric.name);
    EXPECT_TRUE(names.insert(name).second) << "twice: " << name;
    EXPECT_EQ(metric.unit == MetricUnit::kNanoseconds, name.ends_with("_ns")) << name;
    EXPECT_EQ(metric.unit == MetricUnit::kMillicores, name.ends_with("_millicores")) << name;
    EXPECT_EQ(metric.unit == MetricUnit::kSeconds, name.ends_with("_seconds")) << name;
    EXPECT_FALSE(metric.help.empty()) << name;
    EXPECT_EQ(metric.help.find_first_of("\n\\|"), std::string_view::npos) << name;
  });
}

TEST(MetricsText, PoolsHaveTheirNamesAndPricesAndWhatStandsInTheirWay) {
  wire::ClusterStatus status;
  wire::PoolStatus spot{.name = "spot", .kind = "slurm", .state = "held", .preemptible = true};
  spot.running = 2;
  spot.cores = 16;
  spot.core_price = 0.01;
  spot.cost_per_hour = 0.16;
  spot.passed_over_seconds = 90;
  wire::PoolStatus other{.name = "slurm", .kind = "slurm", .state = "usable"};
  other.usable = 1;
  other.troubled = 1;
  other.trouble = Unavailable("exceeded quota").WithDetail(Detail::kQuota);
  other.trouble_stands = true;
  status.pools = {spot, other};
  const std::string text = MetricsText(status);
  for (const char* line : {
           // One metric, so one head.
           "# TYPE headrace_pool_workers gauge\n"
           "headrace_pool_workers{pool=\"spot\",state=\"queued\"} 0\n"
           "headrace_pool_workers{pool=\"slurm\",state=\"queued\"} 0\n"
           "headrace_pool_workers{pool=\"spot\",state=\"starting\"} 0\n",
           "headrace_pool_workers{pool=\"spot\",state=\"running\"} 2\n",
           "headrace_pool_workers{pool=\"slurm\",state=\"lost\"} 0\n",
           "headrace_pool_cores{pool=\"spot\"} 16\n",
           "headrace_pool_core_price{pool=\"spot\"} 0.01\n",
           "headrace_pool_cost_per_hour{pool=\"spot\"} 0.16\n",
           "headrace_pool_passed_over_seconds{pool=\"spot\"} 90\n",
           "headrace_pool_usable{pool=\"spot\"} 0\n",
           "headrace_pool_usable{pool=\"slurm\"} 1\n",
           "headrace_pool_troubled{pool=\"slurm\"} 1\n",
           "headrace_pool_info{pool=\"spot\",kind=\"slurm\",preemptible=\"1\",state=\"held\","
           "trouble=\"\"} 1\n"
           "headrace_pool_info{pool=\"slurm\",kind=\"slurm\",preemptible=\"0\",state=\"usable\","
           "trouble=\"quota\"} 1\n",
       }) {
    EXPECT_THAT(text, HasSubstr(line));
  }
  EXPECT_THAT(text, Not(HasSubstr("headrace_pool_core_price{pool=\"slurm\"}")));
  EXPECT_THAT(text, Not(HasSubstr("headrace_pool_cost_per_hour{pool=\"slurm\"}")));
  status.pools[1].trouble_stands = false;
  EXPECT_THAT(MetricsText(status), Not(HasSubstr("trouble=\"quota\"")));
  EXPECT_THAT(MetricsText({}), Not(HasSubstr("headrace_pool")));
}

TEST(MetricsTable, NamesSayTheirUnits) {
  CheckNames<wire::BatchCost>();
  CheckNames<wire::SessionLoad>();
  CheckNames<wire::WorkerHeartbeat>();
  CheckNames<wire::JobUsage>();
  CheckNames<wire::JobStatus>();
  CheckNames<wire::ClusterStatus>();
  CheckNames<wire::DatasetStatus>();
  CheckNames<wire::PoolStatus>();
}

// The page is generated: run this test with HEADRACE_UPDATE_DOCS=1 to write it.
TEST(MetricsTable, ReferencePageIsUpToDate) {
  const std::filesystem::path path =
      std::filesystem::path(HEADRACE_SOURCE_DIR) / "docs/reference/metrics.md";
  if (std::getenv("HEADRACE_UPDATE_DOCS") != nullptr) std::ofstream(path) << MetricsPage();
  std::ifstream file(path);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  EXPECT_EQ(text, MetricsPage());
}

}  // namespace
}  // namespace headrace::web
