#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/bootstrap.h"
#include "cli/commands.h"
#include "cli/inspection.h"
#include "cli/private_directory.h"
#include "cli/program.h"
#include "cli/query.h"
#include "cli/show.h"
#include "cli/tenants.h"

namespace headrace::cli {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

wire::ClusterStatus Example(std::uint64_t samples, double cpu_seconds, std::int64_t wall_ms) {
  wire::ClusterStatus status;
  status.version = "0.1.0";
  status.wall_ms = wall_ms;
  status.coordinator_cpu_seconds = 0.25;
  status.ended_workers_cpu_seconds = 1;
  wire::JobStatus job;
  job.job = JobId(3);
  job.name = "train.py";
  job.hostname = "node1";
  job.pid = 77;
  job.state = "running";
  job.opened_ms = wall_ms - 90'000;
  job.workers = {WorkerId(1)};
  job.granted_millicores = 1500;
  job.demand_millicores = 4400;
  job.sessions = {{SessionId(5), samples / 10, samples, 1'000'000'000, 3'000'000'000, 0}};
  job.sessions[0].compared = 6;
  job.sessions[0].differed = 1;
  status.jobs = {job};
  wire::WorkerStatus worker;
  worker.info.worker = WorkerId(1);
  worker.info.host = {"node1", "boot", 0, 99};
  worker.info.cores = 8;
  worker.state = "ready";
  worker.last.cpu_seconds = cpu_seconds;
  worker.last.resident_bytes = 300U << 20;
  worker.last.cache_hits = 1;
  worker.last.cache_misses = 3;
  worker.info.tiers = {{"memory", 1000}};
  worker.last.tiers = {{"memory", 900, 9, 1, 3}};
  worker.last.samples = samples;
  worker.last.jobs = {JobId(3)};
  worker.silent_ms = 250;
  status.workers = {worker};
  return status;
}

TEST(Show, TablesAlignAndSayTheTotals) {
  const auto status = Example(1000, 2.5, 1'000'000);
  EXPECT_EQ(JobsTable(status),
            "JOB  NAME      HOST   PID  STATE    AGE  WORKERS    CORES  BATCHES  SAMPLES  EQUAL  "
            "STALL\n"
            "  3  train.py  node1   77  running   1m        1  1.5/4.4      100     1000    5/6    "
            "25%\n");
  const std::string workers = WorkersTable(status);
  EXPECT_THAT(workers,
              AllOf(HasSubstr("2.5s"), HasSubstr("300M"), HasSubstr("25%"), HasSubstr("0.2s")));
  EXPECT_EQ(JobsTable({}), "no jobs\n");
  EXPECT_EQ(WorkersTable({}), "no workers\n");
}

TEST(Show, RatesAreGrowthOverTheTimeBetween) {
  // 1000 -> 1600 samples in 2 s = 300/s; 2.5 -> 3.5 CPU s in 2 s = 50%.
  const auto before = Example(1000, 2.5, 1'000'000);
  const auto now = Example(1600, 3.5, 1'002'000);
  EXPECT_THAT(JobsTable(now, &before), AllOf(HasSubstr("SAMPLES/S"), HasSubstr("  300\n")));
  EXPECT_THAT(WorkersTable(now, &before), HasSubstr("50%        300"));
  EXPECT_THAT(TopPage("tcp://x:1", now, &before),
              HasSubstr("1 jobs  1 workers  4.8 CPU s (coordinator 0.25)"));
}

TEST(Show, AJobsPageHasAllItsRanks) {
  auto status = Example(1000, 2.5, 1'000'000);
  wire::JobStatus& first = status.jobs[0];
  first.group = "run";
  first.rank = 0;
  first.samples_per_second = 590;
  first.samples_per_second_when_ready = 1000;
  first.advice = "waits 41%: 30% decode";
  wire::JobStatus second = first;
  second.job = JobId(4);
  second.rank = 1;
  second.advice = "waits 2%: 2% copy";
  second.unfit = {{WorkerId(1), "has not the trainer's file /data/1.jpg"},
                  {WorkerId(8), "no module named timm\x1b"}};
  status.jobs.push_back(second);
  second.unfit.clear();
  second.job = JobId(2);
  second.state = "lost";
  second.advice.clear();
  status.jobs.push_back(second);
  const auto page = JobPage(status, JobId(4));
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(*page,
            "job       4  train.py, pid 77 on node1\n"
            "state     running, since 1m\n"
            "tenant    default, priority 0\n"
            "\nrank 0, job 3\n"
            "cores     1.50 granted, 4.40 asked for, on 1 worker\n"
            "speed     590 samples/s; its trainer would take 1000 with data always ready\n"
            "waiting   rank 0 waits 41%: 30% decode\n"
            "\nrank 1, job 4\n"
            "cores     1.50 granted, 4.40 asked for, on 1 worker\n"
            "speed     590 samples/s; its trainer would take 1000 with data always ready\n"
            "waiting   rank 1 waits 2%: 2% copy\n"
            "unfit     worker 1 on node1: has not the trainer's file /data/1.jpg\n"
            "unfit     worker 8: no module named timm?\n");
  EXPECT_EQ(JobPage(status, JobId(9)).status().message(),
            "no job 9; `headrace jobs --all` lists them");
  EXPECT_EQ(AdviceLines(status),
            "job 3, rank 0 waits 41%: 30% decode\njob 4, rank 1 waits 2%: 2% copy\n");
  EXPECT_EQ(UnfitLines(status),
            "worker 1 on node1 is unfit for job 4 (train.py): has not the trainer's file "
            "/data/1.jpg\n"
            "worker 8 is unfit for job 4 (train.py): no module named timm?\n");
  EXPECT_EQ(nlohmann::json::parse(JobsJson(status))["jobs"][1]["unfit"][1]["worker"], 8);
}

TEST(Tenants, AreReadWithTheirQuotas) {
  const auto tenants = ParseTenants(R"({"tenants": [
      {"name": "vision", "weight": 2, "cores": 16, "cache_bytes": 1e9},
      {"name": "speech", "source_bytes_per_second": 5e8, "trainers": 4}]})");
  ASSERT_TRUE(tenants.ok()) << tenants.status().ToString();
  ASSERT_EQ(tenants->size(), 2u);
  EXPECT_EQ((*tenants)[0].weight, 2);
  EXPECT_EQ((*tenants)[0].quota.cores, 16);
  EXPECT_EQ((*tenants)[0].quota.cache_bytes, 1e9);
  EXPECT_EQ((*tenants)[0].quota.source_rate, coordinator::kUnlimited);
  EXPECT_EQ((*tenants)[1].quota.source_rate, 5e8);
  EXPECT_EQ((*tenants)[1].quota.gpus, 4);
}

TEST(Tenants, WhatIsWrongIsNamed) {
  const auto message = [](const char* text) { return ParseTenants(text).status().message(); };
  EXPECT_THAT(message("{"), HasSubstr("not JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("{\"tenants\": [...]}"));
  EXPECT_THAT(message(R"({"tenants": [{"weight": 1}]})"), HasSubstr("without a name"));
  EXPECT_THAT(message(R"({"tenants": [{"name": "a", "weigth": 1}]})"),
              HasSubstr("tenant a: unknown key weigth"));
  EXPECT_THAT(message(R"({"tenants": [{"name": "a", "weight": 0}]})"),
              HasSubstr("tenant a: weight must be above 0"));
  EXPECT_THAT(message(R"({"tenants": [{"name": "a", "cores": -1}]})"),
              HasSubstr("tenant a: cores must be a number, at least 0"));
  EXPECT_THAT(message(R"({"tenants": [{"name": "a"}, {"name": "a"}]})"),
              HasSubstr("tenant a is there twice"));
}

TEST(Tenants, DataSetsMayHaveABound) {
  const auto bounds =
      ParseDatasetBounds(R"({"tenants": [], "datasets": {"a": {"cache_bytes": 1e9}}})");
  ASSERT_TRUE(bounds.ok()) << bounds.status().ToString();
  EXPECT_EQ(*bounds, (std::map<std::string, double>{{"a", 1e9}}));
  EXPECT_TRUE(ParseDatasetBounds(R"({"tenants": []})")->empty());
  const auto message = [](const char* text) { return ParseDatasetBounds(text).status().message(); };
  EXPECT_THAT(message(R"({"datasets": []})"), HasSubstr("datasets: expected"));
  EXPECT_THAT(message(R"({"datasets": {"a": {"cache": 1}}})"),
              HasSubstr("data set a: expected {\"cache_bytes\": BYTES}"));
  EXPECT_THAT(message(R"({"datasets": {"a": {"cache_bytes": -1}}})"),
              HasSubstr("data set a: cache_bytes must be a number, at least 0"));
}

TEST(Show, NamesOfPeersCannotSteerTheTerminal) {
  auto status = Example(1, 1, 1);
  status.jobs[0].name = "\x1b[2Jevil";
  EXPECT_THAT(JobsTable(status), AllOf(HasSubstr("?[2Jevil"), Not(HasSubstr("\x1b"))));
}

TEST(Show, JsonIsJson) {
  auto status = Example(1000, 2.5, 1'000'000);
  status.jobs[0].name = "bad\xff";
  auto& load = status.jobs[0].sessions[0];
  load.wait_network_ns = 250'000'000;
  load.miss_cpu_ns = 500'000'000;
  const auto jobs = nlohmann::json::parse(JobsJson(status));
  const auto& session = jobs["jobs"][0]["sessions"][0];
  EXPECT_DOUBLE_EQ(session["wait_seconds"]["network"].get<double>(), 0.25);
  EXPECT_DOUBLE_EQ(session["miss_cpu_seconds"].get<double>(), 0.5);
  EXPECT_TRUE(session["idle_seconds"].is_null());
  load.idle_known = true;
  load.idle_ns = 125'000'000;
  EXPECT_DOUBLE_EQ(nlohmann::json::parse(JobsJson(status))["jobs"][0]["sessions"][0]["idle_seconds"]
                       .get<double>(),
                   0.125);
  EXPECT_EQ(jobs["jobs"][0]["job"], 3);
  EXPECT_DOUBLE_EQ(jobs["jobs"][0]["sessions"][0]["stall_seconds"].get<double>(), 1.0);
  const auto workers = nlohmann::json::parse(WorkersJson(status));
  EXPECT_EQ(
      workers["workers"][0]["cache_tiers"].dump(),
      R"([{"budget_bytes":1000,"bytes":900,"entries":9,"hits":1,"misses":3,"tier":"memory"}])");
  EXPECT_EQ(workers["workers"][0]["cpu_seconds"], 2.5);
  EXPECT_EQ(workers["ended_workers_cpu_seconds"], 1.0);
}

TEST(Show, ShortUnits) {
  EXPECT_EQ(BytesText(0), "0");
  EXPECT_EQ(BytesText(1023), "1023");
  EXPECT_EQ(BytesText(1536), "1.5K");
  EXPECT_EQ(BytesText(std::uint64_t{20} << 30), "20G");
  EXPECT_EQ(AgeText(-5), "0s");
  EXPECT_EQ(AgeText(59'999), "59s");
  EXPECT_EQ(AgeText(3'600'000), "1h0m");
  EXPECT_EQ(AgeText(90'000'000), "1d1h");
}

TEST(Address, FormsAndTheEnvironment) {
  EXPECT_TRUE(CheckAddress("tcp://head:7070").ok());
  EXPECT_TRUE(CheckAddress("ipc:///run/x").ok());
  for (const char* bad : {"", "head:7070", "tcp://", "tcp://head", "ipc://"}) {
    EXPECT_THAT(CheckAddress(bad).message(), HasSubstr("tcp://HOST:PORT")) << bad;
  }
  ::unsetenv("HEADRACE_COORDINATOR");
  EXPECT_THAT(CoordinatorAddress("").status().message(), HasSubstr("HEADRACE_COORDINATOR"));
  ::setenv("HEADRACE_COORDINATOR", "tcp://env:1", 1);
  EXPECT_EQ(*CoordinatorAddress(""), "tcp://env:1");
  EXPECT_EQ(*CoordinatorAddress("tcp://option:2"), "tcp://option:2");
  ::unsetenv("HEADRACE_COORDINATOR");
}

class Scratch : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "cli" + std::string(6, 'X');
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }
  std::string root_;
};

TEST_F(Scratch, QueryOfNobodySaysWhatToStart) {
  const std::string address = "ipc://" + root_ + "/nobody";
  const auto answer = QueryStatus(address, std::chrono::milliseconds(100));
  EXPECT_EQ(answer.status().code(), Code::kUnavailable);
  EXPECT_EQ(answer.status().message(), "no coordinator answers at " + address +
                                           " within 0.1 s; start one with `headrace coordinator "
                                           "--listen " +
                                           address + "`");
}

TEST_F(Scratch, BootstrapIsFoundBesideTheBinaryOrByTheVariable) {
  const std::string binary = root_ + "/bin/headrace";
  const auto missing = FindBootstrap(binary, "");
  EXPECT_EQ(missing.status().code(), Code::kNotFound);
  EXPECT_THAT(missing.status().message(), AllOf(HasSubstr(root_ + "/lib"), HasSubstr("pip")));
  const fs::path installed = root_ + "/lib/python3.11/site-packages/headrace/bootstrap";
  fs::create_directories(installed);
  EXPECT_FALSE(FindBootstrap(binary, "").ok()) << "an empty directory is none";
  std::ofstream(installed / "sitecustomize.py") << "";
  EXPECT_EQ(*FindBootstrap(binary, ""), installed.string());
  EXPECT_EQ(*FindBootstrap("/elsewhere/bin/headrace", installed.string()), installed.string());
  // What Debian's own pip installs.
  const fs::path debian = root_ + "/local/lib/python3.13/dist-packages/headrace/bootstrap";
  fs::create_directories(debian);
  std::ofstream(debian / "sitecustomize.py") << "";
  EXPECT_EQ(*FindBootstrap(root_ + "/local/bin/headrace", ""), debian.string());
  // A portable wheel has the program in the package.
  EXPECT_EQ(*FindBootstrap(debian.parent_path() / "bin" / "headrace", ""), debian.string());
  EXPECT_THAT(FindBootstrap(binary, root_).status().message(), HasSubstr("HEADRACE_BOOTSTRAP_DIR"));
}

TEST(TakeProgram, TheProgramsOwnOptionsAreNeverOurs) {
  using Words = std::vector<std::string>;
  const auto cut = [](Words words) {
    Words program = TakeProgram(words);
    return std::pair(words, program);
  };
  EXPECT_EQ(cut({"python", "a.py", "--workers", "9"}),
            std::pair(Words{}, Words({"python", "a.py", "--workers", "9"})));
  EXPECT_EQ(cut({"--workers", "4", "--cache=2G", "python", "--", "x"}),
            std::pair(Words({"--workers", "4", "--cache=2G"}), Words({"python", "--", "x"})));
  EXPECT_EQ(cut({"--workers", "4", "--", "python", "-c", "1"}),
            std::pair(Words({"--workers", "4"}), Words({"python", "-c", "1"})));
  EXPECT_EQ(cut({"--", "--odd-name"}), std::pair(Words{}, Words{"--odd-name"}));
  EXPECT_EQ(cut({"--json", "--svg", "g.svg", "train.py", "--json"}),
            std::pair(Words({"--json", "--svg", "g.svg"}), Words({"train.py", "--json"})));
  EXPECT_EQ(cut({"--remote-only", "python", "--remote-only"}),
            std::pair(Words{"--remote-only"}, Words({"python", "--remote-only"})));
  EXPECT_EQ(cut({"--trust-code", "python", "--trust-code"}),
            std::pair(Words{"--trust-code"}, Words({"python", "--trust-code"})));
  EXPECT_EQ(cut({"--no-found-functions", "a"}).second, Words{"a"});
  Words verify{"--workers", "train.py", "--workers"};
  EXPECT_EQ(TakeProgram(verify, {"--workers"}), Words({"train.py", "--workers"}));
  EXPECT_EQ(verify, Words{"--workers"});
  EXPECT_EQ(cut({"--help", "python"}), std::pair(Words{"--help"}, Words{"python"}));
  EXPECT_EQ(cut({"--workers"}), std::pair(Words{"--workers"}, Words{}));
  EXPECT_EQ(cut({}), std::pair(Words{}, Words{}));
}

class Scripts : public Scratch {
 protected:
  std::string MakeFile(const std::string& name, bool executable) {
    const std::string path = root_ + "/" + name;
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << "";
    if (executable) fs::permissions(path, fs::perms::owner_all);
    return path;
  }
};

TEST_F(Scripts, APythonFileIsRunByPython) {
  using Words = std::vector<std::string>;
  MakeFile("both/python", true);
  MakeFile("both/python3", true);
  MakeFile("three/python", false);
  MakeFile("three/python3", true);
  const std::string both = "/nowhere:" + root_ + "/both";
  EXPECT_EQ(WithInterpreter({"train.py", "a.py"}, both), Words({"python", "train.py", "a.py"}));
  EXPECT_EQ(WithInterpreter({"train.py"}, root_ + "/three"), Words({"python3", "train.py"}));
  EXPECT_EQ(WithInterpreter({"torchrun", "train.py"}, both), Words({"torchrun", "train.py"}));
  EXPECT_EQ(WithInterpreter({}, both), Words{});
  const std::string plain = MakeFile("plain.py", false);
  EXPECT_EQ(WithInterpreter({plain}, both), Words({"python", plain}));
  const std::string own = MakeFile("own.py", true);
  EXPECT_EQ(WithInterpreter({own}, both), Words({own})) << "it has an interpreter of its own";
}

TEST(Inspection, SettingsNameTheDescriptors) {
  const Inspection inspection{.what = "explain", .loaders = 2, .json = true, .svg = "/a b.svg"};
  const auto settings = nlohmann::json::parse(InspectionSettings(inspection, 12, 3, 4));
  EXPECT_EQ(settings, (nlohmann::json{{"what", "explain"},
                                      {"loaders", 2},
                                      {"batches", 8},
                                      {"workers", false},
                                      {"json", true},
                                      {"svg", "/a b.svg"},
                                      {"answer", "/proc/12/fd/3"},
                                      {"turn", "/proc/12/fd/4"}}));
}

TEST(Inspection, AnswersComeInPieces) {
  const std::string whole = "1 5\nab\ncd";
  for (std::size_t size = 0; size < whole.size(); ++size) {
    const auto part = ParseAnswer(whole.substr(0, size));
    ASSERT_TRUE(part.ok()) << size;
    EXPECT_FALSE(part->has_value()) << size;
  }
  const auto answer = ParseAnswer(whole);
  ASSERT_TRUE(answer.ok() && answer->has_value());
  EXPECT_EQ((*answer)->code, 1);
  EXPECT_EQ((*answer)->text, "ab\ncd");
}

TEST(Inspection, WhatIsNoAnswerIsDamaged) {
  const std::string endless(100, '1');
  for (const std::string& bad : {std::string("x 5\n"), std::string("1\n"), std::string("1 \n"),
                                 std::string("1 -5\n"), std::string("1 5x\n"), endless}) {
    EXPECT_EQ(ParseAnswer(bad).status().code(), Code::kDataLoss) << bad;
  }
}

TEST(PrependPath, OnceInFront) {
  EXPECT_EQ(PrependPath("/b", ""), "/b");
  EXPECT_EQ(PrependPath("/b", "/a"), "/b:/a");
  EXPECT_EQ(PrependPath("/b", "/b:/a"), "/b:/a");
}

TEST_F(Scratch, PrivateDirectoryIsReadyAtOnceAndGoesWithItsOwner) {
  const std::string path = root_ + "/private";
  {
    const auto directory = PrivateDirectory::Take(path);
    ASSERT_TRUE(directory.ok()) << directory.status().ToString();
    ASSERT_TRUE(directory->WriteReady("ipc://" + path + "/control").ok());
    std::string endpoint;
    std::ifstream(path + "/ready") >> endpoint;
    EXPECT_EQ(endpoint, "ipc://" + path + "/control");
    EXPECT_FALSE(fs::exists(path + "/ready.draft"));
  }
  EXPECT_FALSE(fs::exists(path));
}

TEST_F(Scratch, PrivateDirectoryMustBePrivateAndShort) {
  const std::string open = root_ + "/open";
  fs::create_directory(open);
  ASSERT_EQ(::chmod(open.c_str(), 0755), 0);
  EXPECT_THAT(PrivateDirectory::Take(open).status().message(), HasSubstr("mode 0700"));
  EXPECT_TRUE(fs::exists(open)) << "what it refuses it does not remove";
  EXPECT_THAT(PrivateDirectory::Take("/" + std::string(100, 'x')).status().message(),
              HasSubstr("set TMPDIR"));
}

}  // namespace
}  // namespace headrace::cli
