#include "cli/doctor.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::cli {
namespace {

using ::testing::HasSubstr;
using Level = Finding::Level;

wire::WorkerStatus Worker(std::int64_t id, const std::string& host) {
  wire::WorkerStatus worker;
  worker.info.worker = WorkerId(id);
  worker.info.host.hostname = host;
  worker.info.version = "1.0";
  worker.state = "ready";
  return worker;
}

Observed Healthy() {
  Observed seen;
  seen.host = "trainer";
  seen.version = "1.0";
  seen.open_files = 65536;
  seen.address = "tcp://head:7070";
  seen.coordinator = {seen.address, {}, 0.0004};
  wire::ClusterStatus status;
  status.version = "1.0";
  status.workers = {Worker(7, "a")};
  seen.status.emplace(status);
  seen.workers = {{{"tcp://a:4000", {}, 0.0002}}};
  return seen;
}

Finding Worst(const Observed& seen) {
  Finding worst;
  for (const Finding& one : Diagnose(seen)) {
    if (one.level > worst.level) worst = one;
  }
  return worst;
}

TEST(Doctor, FindsNothingWhereAllIsWell) {
  EXPECT_EQ(Worst(Healthy()).level, Level::kFine);
  EXPECT_EQ(FindingsText(Diagnose(Healthy())),
            "ok       this host: release 1.0\n"
            "ok       coordinator: tcp://head:7070, reached in 0.4 ms\n"
            "ok       worker 7 on a: tcp://a:4000, reached in 0.2 ms\n");
  Observed alone = Healthy();
  alone.address = "";
  EXPECT_EQ(Worst(alone).level, Level::kFine);
}

TEST(Doctor, SaysWhyTheCoordinatorIsNotReached) {
  Observed seen = Healthy();
  seen.coordinator.status = NotFound("tcp://head:7070: Name or service not known");
  seen.status.reset();
  EXPECT_EQ(Worst(seen).remedy, "use a name or an address that this host knows");
  seen.coordinator.status = Unavailable("tcp://head:7070: Connection refused");
  EXPECT_THAT(Worst(seen).remedy, HasSubstr("headrace coordinator --listen tcp://head:7070"));
  seen.coordinator.status = Status::Ok();
  seen.status.emplace(Unavailable("no coordinator answers"));
  EXPECT_THAT(Worst(seen).remedy, HasSubstr("--keys"));
  seen.status.emplace(OtherRelease("it speaks protocol 9"));
  EXPECT_THAT(Worst(seen).remedy, HasSubstr("the same release"));
}

TEST(Doctor, SaysWhyAWorkerIsNotReached) {
  Observed seen = Healthy();
  seen.workers[0][0].status = NotFound("tcp://a:4000: Name or service not known");
  std::vector<Finding> found = Diagnose(seen);
  EXPECT_EQ(found[2].level, Level::kProblem);
  EXPECT_THAT(found[2].remedy, HasSubstr("--advertise"));
  EXPECT_EQ(found[3].text, "no worker serves programs of this host");

  seen.workers[0][0].status = Unavailable("tcp://a:4000: Connection timed out");
  EXPECT_THAT(Diagnose(seen)[2].remedy, HasSubstr("let this host through"));

  seen.workers[0][0] = {"tcp://127.0.0.1:4000", Unavailable("tcp://127.0.0.1:4000: refused"), 0};
  EXPECT_EQ(Diagnose(seen)[2].level, Level::kWarning);
  EXPECT_THAT(Diagnose(seen)[2].remedy, HasSubstr("--listen tcp://0.0.0.0:0"));
}

TEST(Doctor, OneAddressOfAWorkerIsEnough) {
  Observed seen = Healthy();
  seen.workers[0].insert(seen.workers[0].begin(), {"ipc:///a", Unavailable("of another host"), 0});
  EXPECT_EQ(Worst(seen).level, Level::kFine);
}

TEST(Doctor, WarnsOfOtherReleasesLostWorkersAndFewFiles) {
  Observed seen = Healthy();
  (*seen.status)->workers[0].info.version = "0.9";
  EXPECT_THAT(Worst(seen).text, HasSubstr("release 0.9, and this is 1.0"));
  seen = Healthy();
  (*seen.status)->workers.push_back(Worker(8, "b"));
  (*seen.status)->workers[1].state = "lost";
  seen.workers.push_back({{"tcp://b:1", Unavailable("of another host"), 0}});
  EXPECT_EQ(Worst(seen).text, "worker 8 on b is lost");
  seen = Healthy();
  seen.open_files = 1024;
  EXPECT_EQ(Worst(seen).remedy, "ulimit -n 65536");
}

TEST(Doctor, SaysWhatTheRoleOnKubernetesLacks) {
  Observed seen = Healthy();
  seen.missing_verbs.emplace(std::vector<std::string>{});
  EXPECT_EQ(Worst(seen).level, Level::kFine);
  EXPECT_EQ(Diagnose(seen)[1].text, "Kubernetes: this account may make workers as Pods");
  seen.missing_verbs.emplace(std::vector<std::string>{"watch", "create"});
  EXPECT_EQ(Worst(seen).text, "Kubernetes: the Role of this account lacks on pods: watch, create");
  EXPECT_THAT(Worst(seen).remedy, HasSubstr("rbac.yaml"));
  seen.missing_verbs.emplace(Unavailable("Kubernetes: 401 Unauthorized"));
  EXPECT_THAT(Worst(seen).text, HasSubstr("401"));
  EXPECT_THAT(Worst(seen).remedy, HasSubstr("--kubernetes-token-file"));
}

TEST(Doctor, SaysWhatStandsInTheWayOfAPoolAndWhatToDo) {
  Observed seen = Healthy();
  wire::PoolStatus pool{.name = "spot", .kind = "slurm", .state = "usable"};
  pool.running = 1;
  pool.wanted_workers = 2;
  const auto with = [&](const wire::PoolStatus& one) {
    (*seen.status)->pools = {one};
    return Diagnose(seen)[2];
  };
  EXPECT_EQ(with(pool).level, Level::kFine);
  EXPECT_EQ(with(pool).text, "pool spot: 1 worker is ready, 2 wanted");
  pool.trouble = Unavailable("sbatch: Invalid partition").WithDetail(Detail::kNoPlace);
  pool.what = "there is no such place";
  pool.remedy = "name one that there is";
  EXPECT_EQ(with(pool).level, Level::kFine) << "it is over";
  pool.trouble_stands = true;
  EXPECT_EQ(with(pool).level, Level::kWarning) << "it serves, with fewer than it should";
  EXPECT_EQ(with(pool).text,
            "pool spot: there is no such place; 1 worker is ready, 2 wanted: sbatch: Invalid "
            "partition");
  EXPECT_EQ(with(pool).remedy, "name one that there is");
  pool.running = 0;
  EXPECT_EQ(with(pool).level, Level::kProblem);
  pool.trouble = Unavailable("2 queued").WithDetail(Detail::kNoRoom);
  EXPECT_EQ(with(pool).level, Level::kWarning) << "it has only to be waited for";
  pool.kind = "static";
  EXPECT_EQ(with(pool).text.substr(0, 8), "worker 7") << "nobody starts workers there";
}

// What a peer says of itself cannot fake a line.
TEST(Doctor, NamesStayInTheirLine) {
  Observed seen = Healthy();
  (*seen.status)->workers[0].info.host.hostname = "a\nok       all is well";
  EXPECT_THAT(FindingsText(Diagnose(seen)), HasSubstr(R"(on a\x0aok)"));
}

}  // namespace
}  // namespace headrace::cli
