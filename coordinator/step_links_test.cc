#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "coordinator/state/journal_codec.h"
#include "coordinator/step_test_util.h"

// Links and racks from the messages of workers and programs to grants and to what people see.
namespace headrace::coordinator {
namespace {

using testing::HasSubstr;

class LinksOfMessages : public testing::Test {
 protected:
  WorkerId Worker(const std::string& host, int cores, std::uint64_t link) {
    wire::RegisterWorker m;
    m.token = "token of a worker on " + host;
    m.info.endpoints = {"tcp://10.0.0.1:7000"};
    m.info.host = {host, host, 1000, 6};
    m.info.cores = cores;
    m.info.version = cluster_.version;
    m.info.link_bytes_per_second = link;
    m.info.rack = "rack of " + host;
    workers_.push_back(cluster_.Ask<wire::WorkerRegistered>(m).worker);
    return workers_.back();
  }
  wire::JobOpened Job(std::uint64_t link) {
    wire::OpenJob open;
    open.token = "token of the job";
    open.name = "train.py";
    open.host = {"trainer", "trainer", 1000, 5};
    open.version = cluster_.version;
    open.link_bytes_per_second = link;
    open.rack = "rack of far";
    return cluster_.Ask<wire::JobOpened>(open);
  }
  // A second of a trainer that takes 800 samples/s of 10 ms and 600 kB when they are there.
  void Train(const wire::JobOpened& job) {
    load_.session = SessionId(9);
    load_.samples += 100;
    load_.miss_samples += 100;
    load_.step_ns += 125'000'000;
    load_.stall_ns += 875'000'000;
    load_.wait_compute_ns += 875'000'000;
    load_.miss_cpu_ns += 1'000'000'000;
    load_.tcp_bytes += 60'000'000;
    load_.received_bytes += 60'000'000;
    cluster_.Send(wire::ConsumerHeartbeat{1, job.job, job.consumer, {load_}});
    for (const WorkerId worker : workers_) cluster_.Heartbeat(worker);
    cluster_.Advance(std::chrono::seconds(1));
    cluster_.Tick();
  }
  double Granted(JobId job) const { return cluster_.state.FindJob(job)->granted_cores(); }

  Cluster cluster_;
  std::vector<WorkerId> workers_;
  wire::SessionLoad load_;
};

TEST_F(LinksOfMessages, BoundGrantsAndAreSaid) {
  Worker("far", 16, 126'000'000);
  Worker("farther", 16, 126'000'000);
  const wire::JobOpened job = Job(0);
  cluster_.Send(wire::OpenSession{2, job.job, SessionId(9), SmallPlan()});
  for (int second = 0; second < 10; ++second) Train(job);
  // 630 kB count for each sample: 200 samples/s, two cores' worth, of each worker.
  EXPECT_NEAR(Granted(job.job), 4, 0.01);
  const wire::ClusterStatus status = cluster_.Status();
  EXPECT_EQ(status.workers[0].info.link_bytes_per_second, 126'000'000U);
  EXPECT_EQ(status.workers[0].info.rack, "rack of far");
  EXPECT_EQ(status.jobs[0].sent_bytes_per_sample, 630'000U);
  EXPECT_EQ(status.jobs[0].link_bytes_per_second_share, 252'000'000U);
  EXPECT_THAT(status.jobs[0].advice, HasSubstr("the links of its workers leave it 252 MB/s"));
}

TEST_F(LinksOfMessages, TheProgramsOwnLinkBindsAndItsRackComesFirst) {
  Worker("strange", 16, 0);
  const WorkerId far = Worker("far", 16, 0);
  const wire::JobOpened job = Job(63'000'000);
  cluster_.Send(wire::OpenSession{2, job.job, SessionId(9), SmallPlan()});
  for (int second = 0; second < 10; ++second) Train(job);
  EXPECT_NEAR(Granted(job.job), 1, 0.01);
  EXPECT_TRUE(cluster_.state.FindJob(job.job)->leases.contains(far));
  EXPECT_THAT(cluster_.Status().jobs[0].advice,
              HasSubstr("; the network binds: the link of its host leaves it 63 MB/s, at 630 kB a "
                        "sample 100 of the 800 samples/s that it could take"));
}

// A coordinator that began again knows them from its journal.
TEST_F(LinksOfMessages, AreRemembered) {
  const WorkerId worker = Worker("far", 16, 126'000'000);
  const wire::JobOpened job = Job(63'000'000);
  State again;
  for (const Update& update : cluster_.state.Snapshot()) {
    const auto read = DecodeUpdate(EncodeUpdate(update));
    ASSERT_TRUE(read.ok());
    ASSERT_TRUE(again.Apply(*read).ok());
  }
  EXPECT_EQ(again.FindWorker(worker)->info.link_bytes_per_second, 126'000'000U);
  EXPECT_EQ(again.FindWorker(worker)->info.rack, "rack of far");
  EXPECT_EQ(again.FindJob(job.job)->spec.link_bytes_per_second, 63'000'000U);
  EXPECT_EQ(again.FindJob(job.job)->spec.rack, "rack of far");
}

}  // namespace
}  // namespace headrace::coordinator
