#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "coordinator/state/journal_codec.h"
#include "coordinator/state/state_test_util.h"
#include "coordinator/step_test_util.h"

// Random histories of a small cluster. After every step the invariants of State and Step hold, and
// the durable updates alone rebuild the state.
namespace headrace::coordinator {
namespace {

std::vector<std::string> Lines(const State& state) {
  std::vector<std::string> lines;
  for (const Update& update : state.Snapshot()) lines.push_back(EncodeUpdate(update));
  return lines;
}

using ::testing::IsEmpty;

class History {
 public:
  explicit History(unsigned seed) : rng_(seed) {}

  void Run(int steps) {
    for (int i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
      SCOPED_TRACE(testing::Message() << "step " << i);
      Act();
      CheckInvariants();
    }
    CheckReplay();
  }

 private:
  int Pick(int n) { return static_cast<int>(rng_() % static_cast<unsigned>(n)); }

  void Act() {
    switch (Pick(13)) {
      case 0:
        return OpenJob();
      case 1:
        return Register();
      case 2:
      case 3:
        return ConsumerBeat();
      case 4:
      case 5:
        return WorkerBeat();
      case 6:
        return Take(PeerMessage{"p", wire::CloseJob{AnyJob().job}});
      case 7:
        return Take(PeerMessage{"p", wire::LeaveWorker{AnyWorker()}});
      case 8:
        return Take(WorkerEnded{AnyWorker(), 1.0});
      case 9:
        return Pick(4) == 0 ? Take(Drain{AnyWorker()}) : Session();
      case 10:
        return Pick(2) == 0 ? Stranger() : Restart();
      default:
        cluster_.Advance(std::chrono::milliseconds(Pick(3000)));
        if (Pick(200) == 0) cluster_.Advance(std::chrono::minutes(11));
        if (Pick(20) > 0) cluster_.BeThere();
        return Take(Tick{});
    }
  }

  void Take(const Event& event) {
    cluster_.Take(event);
    for (const Update& update : Cluster::DurableOf(cluster_.last)) {
      journal_.push_back(EncodeUpdate(update));
    }
  }
  // Sends it twice: the repeat gets the same answer and changes nothing durable.
  void Twice(const wire::Body& body) {
    Take(PeerMessage{"p", body});
    const Decision first = cluster_.last;
    const auto lines = Lines(cluster_.state);
    Take(PeerMessage{"p", body});
    EXPECT_EQ(Lines(cluster_.state), lines) << "a repeated request changed the state";
    ASSERT_EQ(first.replies.size(), cluster_.last.replies.size());
    if (first.replies.empty()) return;
    EXPECT_EQ(wire::Encode(first.replies[0].body).body,
              wire::Encode(cluster_.last.replies[0].body).body);
  }

  void OpenJob() {
    wire::OpenJob open;
    const int program = Pick(6);
    open.token = "job-token-" + std::to_string(program);
    open.host = {"node" + std::to_string(program % 2), "boot", UserOf(program), 1};
    open.version = "0.1.0";
    open.wanted_workers = Pick(4);
    Twice(open);
    const auto& reply = std::get<wire::JobOpened>(cluster_.last.replies[0].body);
    ASSERT_TRUE(reply.status.ok());
    const auto known = owner_of_job_.find(reply.job);
    if (known != owner_of_job_.end()) {
      EXPECT_EQ(known->second, open.token) << "a job id was given twice";
    }
    owner_of_job_[reply.job] = open.token;
    jobs_.push_back(reply);
  }
  void Register() {
    wire::RegisterWorker m;
    const int process = Pick(12);
    m.token = "worker-token-" + std::to_string(process);
    m.info.endpoints = {"tcp://x:" + std::to_string(Pick(2))};
    m.info.host = {"node" + std::to_string(Pick(3)), "boot", 1, 1};
    m.info.version = "0.1.0";
    if (process >= 8) {  // lent by a program of job tokens 0 to 3
      m.info.local = true;
      m.info.host = {"node" + std::to_string(process % 2), "boot", UserOf(process - 8), 1};
    }
    Twice(m);
    const auto& reply = std::get<wire::WorkerRegistered>(cluster_.last.replies[0].body);
    if (reply.status.code() == Code::kInfeasible) return;  // the host has a worker
    const auto known = owner_of_worker_.find(reply.worker);
    if (known != owner_of_worker_.end()) {
      EXPECT_EQ(known->second, m.token) << "a worker id was given twice";
    }
    owner_of_worker_[reply.worker] = m.token;
    workers_.push_back(reply.worker);
  }
  void ConsumerBeat() {
    const auto job = AnyJob();
    Twice(wire::ConsumerHeartbeat{1, job.job, job.consumer, {}, {}});
    const auto& reply = std::get<wire::Leases>(cluster_.last.replies[0].body);
    EXPECT_EQ(reply.status.code() == Code::kNotFound, cluster_.state.FindJob(job.job) == nullptr);
    if (Pick(3) == 0) {
      Take(PeerMessage{"p", wire::ConsumerHeartbeat{1, job.job, job.consumer, {}, {AnyWorker()}}});
    }
  }
  void WorkerBeat() {
    wire::WorkerHeartbeat beat;
    beat.worker = AnyWorker();
    beat.cpu_seconds = Pick(100);
    Twice(beat);
  }
  void Session() {
    wire::OpenSession open{1, AnyJob().job, SessionId(Pick(5)), SmallPlan()};
    Twice(open);
    if (Pick(2) == 0) Take(PeerMessage{"p", wire::CloseSession{open.job, open.session}});
  }
  // A message of somebody who knows the numbers and no token.
  void Stranger() {
    const auto job = AnyJob();
    wire::ConsumerHeartbeat beat{1,  job.job,       job.consumer,
                                 {}, {AnyWorker()}, "token of a stranger"};
    wire::WorkerHeartbeat own;
    own.worker = AnyWorker();
    own.token = beat.token;
    const std::vector<wire::Body> said = {beat, own, wire::CloseJob{job.job, beat.token},
                                          wire::LeaveWorker{own.worker, beat.token}};
    Take(PeerMessage{"stranger", said[static_cast<std::size_t>(Pick(4))]});
    EXPECT_THAT(cluster_.last.updates, IsEmpty());
  }
  // Replays the journal in a new process, which then hears heartbeats.
  void Restart() {
    State replayed;
    Replay(replayed);
    ASSERT_TRUE(replayed.Apply(RestartClocks{cluster_.clock.Now()}).ok());
    cluster_.state = replayed;
  }
  void Replay(State& state) {
    for (const std::string& record : journal_) {
      const Result<Update> decoded = DecodeUpdate(record);
      ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
      const Status applied = state.Apply(*decoded);
      ASSERT_TRUE(applied.ok()) << applied.ToString();
    }
  }

  // Two users on each of two hosts.
  static std::uint32_t UserOf(int program) { return program < 2 ? 1 : 2; }
  static bool MayServe(const Worker& worker, const Job& job) {
    const wire::HostIdentity &its = worker.info.host, &host = job.spec.host;
    return worker.leasable() &&
           (!worker.info.local || (its.hostname == host.hostname && its.uid == host.uid));
  }

  wire::JobOpened AnyJob() {
    if (jobs_.empty()) return {};
    return jobs_[static_cast<std::size_t>(Pick(static_cast<int>(jobs_.size())))];
  }
  WorkerId AnyWorker() {
    if (workers_.empty()) return WorkerId(77);
    return workers_[static_cast<std::size_t>(Pick(static_cast<int>(workers_.size())))];
  }

  void CheckInvariants() {
    const State& state = cluster_.state;
    for (const auto& [id, job] : state.jobs()) {
      if (job.phase == Job::Phase::kLost) {
        EXPECT_TRUE(job.leases.empty());
      }
      for (const WorkerId worker_id : job.leases) {
        const Worker* worker = state.FindWorker(worker_id);
        ASSERT_NE(worker, nullptr);
        EXPECT_TRUE(MayServe(*worker, job)) << "job " << id.value << " on " << worker_id.value;
        EXPECT_TRUE(worker->jobs.contains(id));
      }
      std::uint64_t& generation = generations_[id];
      EXPECT_GE(job.generation, generation);
      if (job.generation == generation) {
        EXPECT_EQ(job.leases, leases_[id]) << "leases changed without a new generation";
      }
      generation = job.generation;
      leases_[id] = job.leases;
    }
    for (const auto& [id, worker] : state.workers()) {
      for (const JobId job : worker.jobs) {
        ASSERT_NE(state.FindJob(job), nullptr);
        EXPECT_TRUE(state.FindJob(job)->leases.contains(id));
      }
    }
    for (const auto& [id, job] : state.jobs()) {
      const bool can_lease = std::ranges::any_of(
          state.workers(), [&](const auto& worker) { return MayServe(worker.second, job); });
      if (can_lease && job.phase == Job::Phase::kRunning) {
        EXPECT_FALSE(job.leases.empty()) << "job " << id.value << " starves";
      }
    }
  }
  void CheckReplay() {
    State replayed;
    Replay(replayed);
    ExpectSameState(replayed, cluster_.state);
  }

  std::mt19937 rng_;
  Cluster cluster_;
  std::vector<std::string> journal_;
  std::vector<wire::JobOpened> jobs_;
  std::vector<WorkerId> workers_;
  std::map<JobId, std::string> owner_of_job_;
  std::map<WorkerId, std::string> owner_of_worker_;
  std::map<JobId, std::uint64_t> generations_;
  std::map<JobId, std::set<WorkerId>> leases_;
};

TEST(StepProperty, RandomHistoriesKeepEveryInvariant) {
  for (unsigned seed = 0; seed < 300 && !HasFailure(); ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    History(seed).Run(150);
  }
}

}  // namespace
}  // namespace headrace::coordinator
