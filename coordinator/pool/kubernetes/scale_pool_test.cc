#include "coordinator/pool/kubernetes/scale_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/pool/pool_bench.h"

namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using State = PoolMember::State;
using KubeJson = FakeKubernetes::Json;

class ScalePoolTest : public testing::Test {
 protected:
  ScalePoolTest() {
    Allow({"get", "patch"}, {"list", "watch", "patch"});
    KubeJson spec = KubeJson::parse(R"({
      "selector": {"matchLabels": {"app": "worker"}},
      "template": {"metadata": {"labels": {"app": "worker"}}, "spec": {"containers": [
        {"name": "worker", "image": "headrace-worker", "args": ["-c", "exec sleep 1000"]}]}}})");
    kube().Do(
        "workload",
        {{"resource", "deployments"}, {"namespace", "ml"}, {"name", "workers"}, {"spec", spec}});
  }
  void Allow(const std::vector<std::string>& scale, const std::vector<std::string>& pods) {
    KubeJson rules = KubeJson::array();
    rules.push_back(FakeKubernetes::Rule("apps", "deployments/scale", scale));
    rules.push_back(FakeKubernetes::Rule("", "pods", pods));
    kube().AllowRules(rules);
  }
  std::unique_ptr<Pool> MakeReady(const std::string& at_stop = "end") {
    GivenSettings given = kube().Settings();
    given.emplace_back("scale", "deployments/workers");
    given.emplace_back("at-stop", at_stop);
    PoolRegistry registry;
    RegisterPools(registry);
    PoolOptions options;
    options.worker_command = {"headrace", "worker"};
    options.most_members = 5;
    PoolEvents events{.on_ended = [this](WorkerId id, double) { ended_.push_back(id); },
                      .on_failed = [this](std::int32_t, const Status& why) { why_ = why; }};
    auto made = registry.Make("kubernetes", given, bench_.reactor_, options, std::move(events));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    EXPECT_TRUE(bench_.Until([&] { return (*made)->ready(); }));
    return std::move(made).value();
  }
  [[nodiscard]] bool Starting(const Pool& pool, std::size_t count) {
    return bench_.Until([&] {
      const auto members = pool.List();
      return members.size() == count && std::ranges::all_of(members, [](const auto& each) {
               return each.state == State::kStarting || each.state == State::kRunning;
             });
    });
  }
  KubeJson Replicas() {
    return kube().Do("get", {{"resource", "deployments"},
                             {"namespace", "ml"},
                             {"name", "workers"}})["spec"]["replicas"];
  }
  FakeKubernetes& kube() { return *bench_.kubernetes_; }

  PoolBench bench_{"kubernetes"};
  std::vector<WorkerId> ended_;
  Status why_;
};

TEST_F(ScalePoolTest, GrowsFromNothingAndGivesUpTheOneThatIsDrained) {
  auto pool = MakeReady();
  EXPECT_THAT(pool->List(), IsEmpty()) << "the scale has no number: it is 0";
  ASSERT_TRUE(pool->Grow(3).ok());
  EXPECT_THAT(pool->List(), SizeIs(3));
  ASSERT_TRUE(Starting(*pool, 3));
  std::int64_t next = 1;
  for (const PoolMember& member : pool->List()) {
    wire::WorkerInfo info;
    info.worker = WorkerId(next++);
    info.member = member.handle;
    pool->Registered(info);
  }
  const std::string victim = pool->List()[1].handle;
  ASSERT_TRUE(pool->Drain(WorkerId(2)).ok());
  ASSERT_TRUE(bench_.Until([&] { return pool->List().size() == 2; }));
  for (const PoolMember& member : pool->List()) EXPECT_NE(member.handle, victim);
  EXPECT_EQ(Replicas(), 2);
  EXPECT_THAT(ended_, testing::ElementsAre(WorkerId(2)));
  EXPECT_TRUE(why_.ok()) << why_.ToString();
  EXPECT_EQ(kube().Calls("create pods") + kube().Calls("delete pods"), 0);
}

TEST_F(ScalePoolTest, TheNextCoordinatorFindsTheNumberAndThePods) {
  auto pool = MakeReady("keep");
  ASSERT_TRUE(pool->Grow(2).ok());
  ASSERT_TRUE(Starting(*pool, 2));
  pool.reset();
  EXPECT_EQ(Replicas(), 2);
  pool = MakeReady();
  EXPECT_THAT(pool->List(), SizeIs(2));
  pool.reset();
  EXPECT_EQ(Replicas(), 0);
}

TEST_F(ScalePoolTest, AForbiddenScaleIsToldWithItsVerbAndNothingIsListed) {
  auto pool = MakeReady();
  Allow({"get"}, {"list", "watch", "patch"});
  ASSERT_TRUE(pool->Grow(2).ok());
  ASSERT_TRUE(bench_.Until([&] { return !why_.ok(); }));
  EXPECT_THAT(why_.message(), HasSubstr("needs the verb patch on deployments/scale"));
  EXPECT_THAT(pool->List(), IsEmpty());
}

TEST_F(ScalePoolTest, AServerInTroubleIsToldAgain) {
  auto pool = MakeReady();
  kube().Fault("patch", "answer", 500, 1, {{"resource", "deployments/scale"}});
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Starting(*pool, 1));
}

TEST(ScaleSeen, NoNumberIsNone) {
  EXPECT_EQ(ScaleSeen::Read(R"({"spec": {}, "status": {"selector": "a=b"}})")->replicas, 0);
  EXPECT_EQ(
      ScaleSeen::Read(R"({"spec": {"replicas": 3}, "status": {"selector": "a=b"}})")->replicas, 3);
  for (const char* text :
       {"", "[]", "{}", R"({"spec": {"replicas": "3"}, "status": {"selector": ""}})",
        R"({"spec": {"replicas": 3}, "status": {}})"}) {
    EXPECT_EQ(ScaleSeen::Read(text).status().code(), Code::kUnavailable) << text;
  }
  EXPECT_EQ(ScaleTarget::Read("statefulset/w")->resource, "statefulsets");
  for (const char* text : {"", "w", "deployments/", "pods/w", "deployments/a/b"}) {
    EXPECT_FALSE(ScaleTarget::Read(text).ok()) << text;
  }
}

}  // namespace
}  // namespace headrace::coordinator
