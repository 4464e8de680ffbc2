#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>

#include "coordinator/pool/core/pool.h"
#include "coordinator/pool/pool_bench.h"

// What a pool of Pods has beyond the contract. Its server is a strict double, of tests/support.
namespace headrace::coordinator {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;
using State = PoolMember::State;

class PodPoolTest : public testing::Test {
 protected:
  std::unique_ptr<Pool> Make(GivenSettings more = {}, std::int64_t epoch = 1700) {
    GivenSettings given = kube().Settings();
    given.emplace_back("program", "sh");
    given.insert(given.end(), more.begin(), more.end());
    PoolRegistry registry;
    RegisterPools(registry);
    PoolOptions options;
    options.worker_command = {"sh", "-c", "exec sleep 1000", "worker"};
    options.name = "headrace-test";
    options.epoch = epoch;
    PoolEvents events{.on_ended = {}, .on_failed = [this](std::int32_t count, const Status& why) {
                        failures_.emplace_back(count, why);
                        failed_ += count;
                      }};
    auto made = registry.Make("kubernetes", given, bench_.reactor_, options, std::move(events));
    EXPECT_TRUE(made.ok()) << made.status().ToString();
    return std::move(made).value();
  }
  std::unique_ptr<Pool> MakeReady(const GivenSettings& more = {}) {
    auto pool = Make(more);
    EXPECT_TRUE(bench_.Until([&] { return pool->ready(); }));
    return pool;
  }
  [[nodiscard]] bool Starting(const Pool& pool, std::size_t count) {
    return bench_.Until([&] {
      const auto members = pool.List();
      return members.size() == count && std::ranges::all_of(members, [](const auto& each) {
               return each.state == State::kStarting;
             });
    });
  }
  [[nodiscard]] bool Told(const std::string& words) {
    return bench_.Until([&] {
      return std::ranges::any_of(failures_, [&](const auto& each) {
        return each.second.message().find(words) != std::string::npos;
      });
    });
  }
  FakeKubernetes& kube() { return *bench_.kubernetes_; }

  PoolBench bench_{"kubernetes"};
  std::vector<std::pair<std::int32_t, Status>> failures_;
  std::int32_t failed_ = 0;
};

TEST_F(PodPoolTest, OneListAndOneWatchTellOfAllPods) {
  auto pool = MakeReady();
  ASSERT_TRUE(pool->Grow(12).ok());
  ASSERT_TRUE(Starting(*pool, 12));
  EXPECT_EQ(kube().Calls("create pods"), 12);
  EXPECT_EQ(kube().Calls("list pods"), 1);
  EXPECT_EQ(kube().Calls("watch pods"), 1);
  for (const PoolMember& member : pool->List()) {
    ASSERT_TRUE(pool->Kill(member.handle, seconds(0)).ok());
  }
  ASSERT_TRUE(bench_.Until([&] { return pool->List().empty(); }));
  EXPECT_EQ(kube().Do("forced"), 0) << "none is deleted while its process may run";
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(PodPoolTest, AWatchThatIsCutGoesOnAndOneThatExpiredBeginsWithAList) {
  auto pool = MakeReady();
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Starting(*pool, 1));
  kube().Do("cut");
  ASSERT_TRUE(bench_.Until([&] { return kube().Calls("watch pods") == 2; }));
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Starting(*pool, 2));
  EXPECT_EQ(kube().Calls("list pods"), 1) << "it went on where it was";
  kube().Do("freeze", {{"on", true}});
  kube().Do("forget_history");
  ASSERT_TRUE(bench_.Until([&] { return kube().Calls("list pods") == 2; }));
  ASSERT_TRUE(bench_.Until([&] { return kube().Calls("watch pods") >= 4; }));
  kube().Do("freeze", {{"on", false}});
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Starting(*pool, 3));
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(PodPoolTest, ANewTokenIsReadAndNoneIsEverSaid) {
  auto pool = MakeReady();
  testing::internal::CaptureStderr();
  kube().AllowRules(FakeKubernetes::Json::array(), "another-token");
  kube().Do("cut");
  ASSERT_TRUE(Told("401 Unauthorized"));
  kube().Allow({"get", "list", "watch", "create", "delete"});  // of the old token again
  kube().Fault("create", "answer", 403, 1, {{"message", "Bearer token-of-the-coordinator cannot"}});
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(bench_.Until([&] { return failed_ > 0; }));
  EXPECT_THAT(failures_.back().second.message(), HasSubstr("[token]"));
  for (const auto& [count, why] : failures_) {
    EXPECT_THAT(why.message(), testing::Not(HasSubstr(FakeKubernetes::kToken)));
  }
  EXPECT_THAT(testing::internal::GetCapturedStderr(),
              testing::Not(HasSubstr(FakeKubernetes::kToken)));
}

TEST_F(PodPoolTest, ATokenFileThatIsExchangedIsUsedByTheNextRequest) {
  auto pool = MakeReady();
  ASSERT_TRUE(bench_.Until([&] { return kube().Calls("watch pods") == 1; }));
  kube().AllowRules(FakeKubernetes::Json::array(), "old");
  kube().AllowRules(FakeKubernetes::Json::array(
                        {FakeKubernetes::Rule("", "pods", {"list", "watch", "create", "delete"})}),
                    "new");
  kube().Write("token", "new\n");
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Starting(*pool, 1));
  EXPECT_THAT(failures_, IsEmpty());
}

TEST_F(PodPoolTest, AMissingVerbIsNamedAndNothingElseIsDone) {
  kube().Allow({"watch", "create", "delete"});
  auto pool = Make();
  ASSERT_TRUE(Told("needs the verb list on pods"));
  EXPECT_FALSE(pool->ready());
  EXPECT_EQ(pool->Grow(1).code(), Code::kUnavailable);
  kube().Allow({"list", "create", "delete"});
  ASSERT_TRUE(bench_.Until([&] { return pool->ready(); }));
  ASSERT_TRUE(Told("needs the verb watch on pods"));
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Starting(*pool, 1)) << "without a watch Pods are listed again";
}

TEST_F(PodPoolTest, AServerInTroubleIsAskedLaterAndLosesNothing) {
  auto pool = MakeReady();
  kube().Fault("create", "answer", 429, 2, {{"retry_after", 1}});
  kube().Fault("create", "answer", 503, 1);
  kube().Fault("create", "answer", 409, 1);
  ASSERT_TRUE(pool->Grow(2).ok());
  ASSERT_TRUE(Starting(*pool, 2));
  EXPECT_EQ(kube().Pods().size(), 2U);
  EXPECT_EQ(kube().Calls("create pods"), 6);
  EXPECT_EQ(failed_, 0);
}

TEST_F(PodPoolTest, RequestsWithoutAnAnswerAreFoundOrFail) {
  auto pool = MakeReady({{"timeout-s", "2"}});
  kube().Fault("create", "mute");
  kube().Fault("create", "drop");
  kube().Fault("create", "wrong");
  kube().Fault("create", "answer", 500);
  kube().Fault("create", "hang");
  ASSERT_TRUE(pool->Grow(5).ok());
  ASSERT_TRUE(bench_.Until([&] { return failed_ == 3; })) << "dropped, failed and hung";
  ASSERT_TRUE(Starting(*pool, 2)) << "two were made, without a word of it";
  EXPECT_EQ(kube().Pods().size(), 2U);
}

TEST_F(PodPoolTest, ServersOfOthersAreNotTrusted) {
  auto pool = Make({{"ca-file", ""}});  // the system's know nothing of it
  ASSERT_TRUE(bench_.Until([&] { return !failures_.empty(); }));
  EXPECT_THAT(failures_[0].second.message(), HasSubstr("Kubernetes: list pods: "));
  EXPECT_EQ(kube().Calls("list pods"), 0) << "no token has left";
  EXPECT_FALSE(pool->ready());
  auto away = Make({{"server", "https://127.0.0.1:9"}});
  ASSERT_TRUE(Told("onnect"));
}

TEST_F(PodPoolTest, APodThatWaitsTellsWhy) {
  kube().Do("freeze", {{"on", true}});
  auto pool = MakeReady();
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(bench_.Until([&] { return !pool->List()[0].note.empty(); }));
  EXPECT_THAT(pool->List()[0].note, HasSubstr("Unschedulable: 0/1 nodes are available"));
  EXPECT_EQ(pool->List()[0].state, State::kQueued);
  // As the coordinator does with one that has waited for too long.
  ASSERT_TRUE(pool->Kill(pool->List()[0].handle, seconds(15)).ok());
  ASSERT_TRUE(bench_.Until([&] { return pool->List().empty(); }));
  kube().Do("freeze", {{"on", false}});
  auto nowhere = MakeReady({{"image", "no-such-image"}});
  ASSERT_TRUE(nowhere->Grow(1).ok());
  ASSERT_TRUE(bench_.Until([&] {
    return nowhere->List()[0].note.find("ErrImagePull: image \"no-such-image\"") !=
           std::string::npos;
  }));
  EXPECT_EQ(nowhere->List()[0].state, State::kQueued);
}

TEST_F(PodPoolTest, AWorkerThatFailsAtOnceTellsItsLastWords) {
  auto pool = MakeReady({{"program", "/bin/ls"}});
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Told("before it registered: Error, exit code 2: /bin/ls: "));
  EXPECT_THAT(pool->List(), IsEmpty());
  ASSERT_TRUE(bench_.Until([&] { return kube().Pods().empty(); })) << "its object is removed";
}

TEST_F(PodPoolTest, DrainedNodesAndEvictionsAreLeavingAndReplacedByTheCoordinatorAlone) {
  kube().Do("node", {{"name", "n2"}, {"cores", 64}});
  auto pool = MakeReady();
  ASSERT_TRUE(pool->Grow(2).ok());
  ASSERT_TRUE(Starting(*pool, 2));
  kube().Do("drain_node", {{"name", "n1"}});
  ASSERT_TRUE(bench_.Until([&] { return pool->List().empty(); }));
  EXPECT_EQ(failed_, 0) << "their end was no failure of theirs";
  EXPECT_EQ(kube().Calls("create pods"), 2) << "the engine starts none, and nobody asked";
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Starting(*pool, 1));
  wire::WorkerInfo info;
  info.worker = WorkerId(5);
  info.member = pool->List()[0].handle;
  pool->Registered(info);
  bench_.reactor_.Advance(seconds(60));
  kube().Do("end_pod", {{"namespace", "ml"}, {"name", info.member}, {"reason", "Evicted"}});
  ASSERT_TRUE(bench_.Until([&] { return pool->List().empty(); }));
  EXPECT_EQ(failed_, 0);
}

TEST_F(PodPoolTest, PodsOfALostNodeStayUntilItIsForgotten) {
  auto pool = MakeReady();
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Starting(*pool, 1));
  wire::WorkerInfo info;
  info.worker = WorkerId(5);
  info.member = pool->List()[0].handle;
  pool->Registered(info);
  kube().Do("lose_node", {{"name", "n1"}});
  pool->Lost(WorkerId(5));
  EXPECT_EQ(pool->List()[0].state, State::kLost);
  ASSERT_TRUE(pool->Kill(info.member, seconds(15)).ok());
  ASSERT_TRUE(bench_.Until([&] {
    const auto pods = kube().Pods();
    return pods.size() == 1 && pods[0]["metadata"].contains("deletionTimestamp");
  }));
  EXPECT_EQ(pool->List()[0].state, State::kDraining);
  kube().Do("forget_node", {{"name", "n1"}});
  ASSERT_TRUE(bench_.Until([&] { return pool->List().empty(); }));
}

TEST_F(PodPoolTest, WorkersBelongToTheObjectThatIsNamed) {
  FakeKubernetes::Json rules = FakeKubernetes::Json::array();
  rules.push_back(FakeKubernetes::Rule("", "pods", {"list", "watch", "create", "delete"}));
  const auto owner = kube().Do("workload", {{"resource", "statefulsets"},
                                            {"namespace", "ml"},
                                            {"name", "headrace"},
                                            {"spec",
                                             {{"replicas", 0},
                                              {"selector", {{"matchLabels", {{"a", "b"}}}}},
                                              {"template", FakeKubernetes::Json::object()}}}});
  auto pool = MakeReady({{"owner", "statefulset/headrace"}});
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Told("needs the verb get on statefulsets"));
  FakeKubernetes::Json get = FakeKubernetes::Rule("apps", "statefulsets", {"get"});
  get["resourceNames"] = FakeKubernetes::Json::array({"headrace"});
  rules.push_back(get);
  kube().AllowRules(rules);
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Starting(*pool, 1));
  EXPECT_EQ(kube().Pods()[0]["metadata"]["ownerReferences"][0]["uid"], owner);
  kube().Do("remove", {{"resource", "statefulsets"}, {"namespace", "ml"}, {"name", "headrace"}});
  ASSERT_TRUE(bench_.Until([&] { return kube().Pods().empty(); })) << "they go with it";
}

TEST_F(PodPoolTest, APodAfterTheTemplateIsTakenAndAnUnknownFieldIsAnError) {
  kube().Write("good.json", R"({"spec": {"nodeSelector": {"disk": "ssd"}}})");
  kube().Write("bad.json", R"({"spec": {"nodeSelektor": {"disk": "ssd"}}})");
  kube().Do("node", {{"name", "n2"}, {"cores", 8}, {"labels", {{"disk", "ssd"}}}});
  auto pool = MakeReady({{"template", kube().folder() + "/good.json"}});
  ASSERT_TRUE(pool->Grow(1).ok());
  ASSERT_TRUE(Starting(*pool, 1));
  EXPECT_THAT(pool->List()[0].note, HasSubstr(" on n2"));
  auto wrong = MakeReady({{"template", kube().folder() + "/bad.json"}});
  ASSERT_TRUE(wrong->Grow(1).ok());
  ASSERT_TRUE(Told("unknown field \"spec.nodeSelektor\""));
}

TEST_F(PodPoolTest, AtTheEndPodsWithoutAnAnswerAreFoundToo) {
  auto pool = MakeReady();
  kube().Fault("create", "hang");
  ASSERT_TRUE(pool->Grow(2).ok());
  ASSERT_TRUE(bench_.Until([&] { return kube().Pods().size() == 1; }));
  pool->Stop();
  for (const auto& pod : kube().Pods()) {
    EXPECT_TRUE(pod["metadata"].contains("deletionTimestamp")) << pod.dump();
  }
}

TEST_F(PodPoolTest, SettingsThatCannotBeAreRefused) {
  PoolRegistry registry;
  RegisterPools(registry);
  PoolOptions options;
  options.worker_command = {"worker"};
  const auto refused = [&](GivenSettings more) {
    GivenSettings given = kube().Settings();
    given.insert(given.end(), more.begin(), more.end());
    return registry.Make("kubernetes", given, bench_.reactor_, options, {}).status().message();
  };
  EXPECT_THAT(refused({{"at-stop", "perhaps"}}), HasSubstr("--kubernetes-at-stop"));
  EXPECT_THAT(refused({{"cache", "4G"}, {"memory", "2G"}}), HasSubstr("--kubernetes-cache"));
  EXPECT_THAT(refused({{"image", ""}}), HasSubstr("--kubernetes-image"));
  EXPECT_THAT(refused({{"owner", "pod"}}), HasSubstr("--kubernetes-owner"));
  EXPECT_THAT(refused({{"labels", "x"}}), HasSubstr("--kubernetes-labels"));
  EXPECT_THAT(refused({{"template", "/no/such"}}), HasSubstr("cannot be read"));
  EXPECT_THAT(refused({{"server", "http://k8s.site"}}), HasSubstr("--kubernetes-server"));
  EXPECT_THAT(refused({{"scale", "pods/x"}}), HasSubstr("--kubernetes-scale"));
}

}  // namespace
}  // namespace headrace::coordinator
