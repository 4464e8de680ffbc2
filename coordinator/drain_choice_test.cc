#include "coordinator/drain_choice.h"

#include <gtest/gtest.h>

#include "base/check.h"

namespace headrace::coordinator {
namespace {

class LeastUsedTest : public testing::Test {
 protected:
  LeastUsedTest() {
    for (int i = 0; i < 4; ++i) {
      AddWorker add;
      add.token = "worker-token-" + std::to_string(i);
      add.info.worker = state_.next_worker();
      Apply(add);
      members_.insert(add.info.worker);
    }
  }
  void Apply(const Update& update) {
    const Status applied = state_.Apply(update);
    HR_CHECK(applied.ok());
  }
  JobId Job(const std::map<WorkerId, std::uint32_t>& millicores, bool lanes_stay = false) {
    AddJob job;
    job.job = state_.next_job();
    job.consumer = state_.next_consumer();
    job.token = "job-token-" + std::to_string(job.job.value);
    Apply(job);
    AddSession session{job.job, SessionId(job.job.value)};
    session.lanes_stay = lanes_stay;
    Apply(session);
    SetLeases leases{job.job, 1, {}};
    SetGrants grants{job.job, {}, ""};
    for (const auto& [id, each] : millicores) {
      leases.workers.push_back(id);
      grants.grants[id] = {.job = job.job, .millicores = each};
    }
    Apply(leases);
    Apply(grants);
    return job.job;
  }

  State state_;
  std::set<WorkerId> members_;
};

TEST_F(LeastUsedTest, TheYoungestOfThoseWithoutLeases) {
  EXPECT_EQ(LeastUsed(state_, members_), WorkerId(4));
  Job({{WorkerId(4), 50}});
  EXPECT_EQ(LeastUsed(state_, members_), WorkerId(3));
}

TEST_F(LeastUsedTest, LeasesOfAllJobsAddUp) {
  Job({{WorkerId(1), 900}, {WorkerId(2), 600}, {WorkerId(3), 1000}, {WorkerId(4), 500}});
  Job({{WorkerId(2), 200}, {WorkerId(4), 500}});
  EXPECT_EQ(LeastUsed(state_, members_), WorkerId(2));
}

TEST_F(LeastUsedTest, LanesWeighMoreThanCores) {
  const JobId lanes = Job({{WorkerId(3), 50}, {WorkerId(4), 50}}, true);
  Job({{WorkerId(1), 2000}, {WorkerId(2), 3000}});
  EXPECT_EQ(LeastUsed(state_, members_), WorkerId(1));
  // If all of them have lanes, the smallest one is chosen after all.
  members_ = {WorkerId(3), WorkerId(4)};
  EXPECT_EQ(LeastUsed(state_, members_), WorkerId(4));
  // Lanes that have ended have no weight.
  members_ = {WorkerId(1), WorkerId(3)};
  Apply(RemoveSession{lanes, SessionId(lanes.value)});
  EXPECT_EQ(LeastUsed(state_, members_), WorkerId(3));
}

TEST_F(LeastUsedTest, OnlyMembersThatAreThere) {
  Apply(DrainWorker{WorkerId(4)});
  Apply(MarkWorkerLost{WorkerId(3)});
  EXPECT_EQ(LeastUsed(state_, members_), WorkerId(2));
  EXPECT_EQ(LeastUsed(state_, {WorkerId(1)}), WorkerId(1));
  EXPECT_FALSE(LeastUsed(state_, {WorkerId(3), WorkerId(4), WorkerId(9)}).valid());
  EXPECT_FALSE(LeastUsed(state_, {}).valid());
}

}  // namespace
}  // namespace headrace::coordinator
