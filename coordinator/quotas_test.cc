// What a coordinator refuses because it would be too much, and the names that it takes.
#include "coordinator/quotas.h"

#include <string>

#include "base/plain_text.h"
#include "coordinator/message_checks.h"
#include "coordinator/step_test_util.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::coordinator {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

void ExpectOver(const Status& status, const std::string& limit, const char* option,
                Code code = Code::kUnsupported) {
  EXPECT_EQ(status.code(), code) << status.ToString();
  EXPECT_THAT(status.message(), AllOf(HasSubstr("limit of " + limit), HasSubstr(option)));
}

TEST(CoordinatorQuotas, Jobs) {
  Cluster cluster;
  cluster.rules.quotas.jobs.most = 2;
  const auto first = cluster.OpenJob("token-aaaa");
  EXPECT_TRUE(first.status.ok());
  EXPECT_TRUE(cluster.OpenJob("token-bbbb").status.ok());
  // The client asks again, and everybody sees that it does.
  ExpectOver(cluster.OpenJob("token-cccc").status, "2", "--max-jobs", Code::kResourceExhausted);
  EXPECT_EQ(cluster.last.refused.code(), Code::kResourceExhausted) << "the log says it";
  ExpectOver(cluster.OpenJob("token-dddd").status, "2", "--max-jobs", Code::kResourceExhausted);
  EXPECT_EQ(cluster.Status().programs_without_room, 1U) << "the same process";
  wire::OpenJob other;
  other.token = "token-eeee";
  other.host = {"node1", "boot1", 1000, 6};
  ExpectOver(cluster.Ask<wire::JobOpened>(other).status, "2", "--max-jobs",
             Code::kResourceExhausted);
  EXPECT_EQ(cluster.Status().programs_without_room, 2U);
  EXPECT_TRUE(cluster.OpenJob("token-aaaa").status.ok()) << "it is open";
  cluster.Send(wire::CloseJob{first.job});
  EXPECT_TRUE(cluster.OpenJob("token-cccc").status.ok());
  EXPECT_EQ(cluster.Status().programs_without_room, 1U);
  cluster.Advance(State::kAsksAgain + std::chrono::seconds(1));
  cluster.Tick();
  EXPECT_EQ(cluster.Status().programs_without_room, 0U) << "it does not ask any more";
}

TEST(CoordinatorQuotas, JobsOfATenant) {
  Cluster cluster;
  cluster.rules.quotas.jobs_of_a_tenant.most = 1;
  const auto open = [&](const std::string& token, const std::string& tenant) {
    wire::OpenJob job;
    job.token = token;
    job.tenant = tenant;
    job.version = cluster.version;
    return cluster.Ask<wire::JobOpened>(job).status;
  };
  EXPECT_TRUE(open("token-aaaa", "vision").ok());
  ExpectOver(open("token-bbbb", "vision"), "1", "--max-jobs-of-a-tenant", Code::kResourceExhausted);
  EXPECT_TRUE(open("token-cccc", "speech").ok());
}

TEST(CoordinatorQuotas, SessionsOfAJob) {
  Cluster cluster;
  cluster.rules.quotas.sessions.most = 1;
  const auto job = cluster.OpenJob("token-aaaa");
  const auto open = [&](SessionId session) {
    return cluster.Ask<wire::SessionOpened>(wire::OpenSession{1, job.job, session, SmallPlan()})
        .status;
  };
  EXPECT_TRUE(open(SessionId(1)).ok());
  ExpectOver(open(SessionId(2)), "1", "--max-sessions-of-a-job");
  EXPECT_TRUE(open(SessionId(1)).ok()) << "it is open";
  cluster.Send(wire::CloseSession{job.job, SessionId(1)});
  EXPECT_TRUE(open(SessionId(2)).ok());
}

TEST(CoordinatorQuotas, BytesOfAPlan) {
  Cluster cluster;
  cluster.rules.quotas.plan_bytes.most = 100;
  const auto job = cluster.OpenJob("token-aaaa");
  ExpectOver(
      cluster.Ask<wire::SessionOpened>(wire::OpenSession{1, job.job, SessionId(1), SmallPlan()})
          .status,
      "100", "--max-plan-bytes");
  EXPECT_TRUE(cluster.state.FindJob(job.job)->sessions.empty());
}

TEST(CoordinatorQuotas, Workers) {
  Cluster cluster;
  cluster.rules.quotas.workers.most = 1;
  EXPECT_TRUE(cluster.Register("worker-aaaa").status.ok());
  ExpectOver(cluster.Register("worker-bbbb").status, "1", "--max-registered-workers");
  EXPECT_TRUE(cluster.Register("worker-aaaa").status.ok());
}

TEST(CoordinatorQuotas, AWorkerThatIsLostLeavesItsPlace) {
  Cluster cluster;
  cluster.rules.quotas.workers.most = 1;
  const auto lost = cluster.Register("worker-aaaa");
  ASSERT_TRUE(lost.status.ok());
  ASSERT_TRUE(cluster.state.Apply(MarkWorkerLost{lost.worker}).ok());
  EXPECT_TRUE(cluster.Register("worker-bbbb").status.ok());
}

const std::string kNasty = "a\n2026 fake line\x1b[31m\xff" + std::string(5000, 'x');

void ExpectPlain(const std::string& name) {
  EXPECT_TRUE(IsPlainText(name));
  EXPECT_LE(name.size(), kMostNameBytes);
  EXPECT_EQ(name.substr(0, 5), "a\\x0a");
}

TEST(Names, AreOnePlainShortLineWhereTheyEnter) {
  wire::OpenJob job;
  job.name = job.tenant = job.group = job.version = job.host.hostname = kNasty;
  wire::Body body = job;
  MakeNamesPlain(body);
  job = std::get<wire::OpenJob>(body);
  for (const std::string& name :
       {job.name, job.tenant, job.group, job.version, job.host.hostname}) {
    ExpectPlain(name);
  }
  wire::RegisterWorker worker;
  worker.info.version = worker.info.host.hostname = kNasty;
  worker.info.tiers = {{kNasty, 1}};
  body = worker;
  MakeNamesPlain(body);
  worker = std::get<wire::RegisterWorker>(body);
  ExpectPlain(worker.info.version);
  ExpectPlain(worker.info.host.hostname);
  ExpectPlain(worker.info.tiers[0].tier);
  wire::OpenSession session;
  session.plan.name = kNasty;
  body = session;
  MakeNamesPlain(body);
  ExpectPlain(std::get<wire::OpenSession>(body).plan.name);
  wire::WorkerHeartbeat beat;
  beat.tiers.push_back({kNasty});
  body = beat;
  MakeNamesPlain(body);
  ExpectPlain(std::get<wire::WorkerHeartbeat>(body).tiers[0].tier);
  wire::ConsumerHeartbeat client;
  client.unfit = {{WorkerId(1), "has\nnot the file"}};
  body = client;
  MakeNamesPlain(body);
  EXPECT_EQ(std::get<wire::ConsumerHeartbeat>(body).unfit[0].reason, "has\\x0anot the file");
}

TEST(Names, AnAddressThatNobodyCouldConnectToIsRefused) {
  Cluster cluster;
  const auto refused = cluster.Register("worker-aaaa", {"tcp://10.0.0.1:7000\nx"});
  EXPECT_EQ(refused.status.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.status.message(), HasSubstr("control characters"));
}

}  // namespace
}  // namespace headrace::coordinator
