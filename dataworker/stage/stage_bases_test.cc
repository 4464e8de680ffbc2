// Interpreters that several sessions share, without torch.
#include "dataworker/stage/stage_bases.h"

#include <signal.h>

#include <condition_variable>
#include <fstream>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <vector>

#include "dataworker/stage/fake_stage.h"
#include "dataworker/stage/zygote.h"
#include "dataworker/worker/worker_fixture.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

class StageBasesTest : public ::testing::Test {
 protected:
  struct Seen {
    bool ready = false;
    Status status;
    std::string lost;
  };

  StageBasesTest() {
    reactor_ = *net::Reactor::Make("test-bases");
    EXPECT_TRUE(reactor_->Start().ok());
    WriteFakeStage(directory_);
    options_.executable = "/usr/bin/python3";
    options_.stage.sys_path = {directory_.path()};
    options_.job = JobId(1);
    Restart(std::chrono::minutes(10));
  }
  ~StageBasesTest() override {
    OnReactorThread(*reactor_, [this] {
      zygotes_.clear();
      bases_.reset();
    });
    reactor_->Stop();
  }

  void Restart(Duration idle_for) {
    OnReactorThread(*reactor_, [&] { bases_ = std::make_unique<StageBases>(*reactor_, idle_for); });
  }
  // Its number here. REQUIRES: the interpreter can be started.
  int Begin(const StageBases::Options& options, const std::string& bundle = "base forks") {
    const int number = next_++;
    Zygote::Events events;
    events.on_ready = [this, number](const Status& status) {
      Tell(number, [&](Seen& seen) { seen.ready = true, seen.status = status; });
    };
    events.on_lost = [this, number](const std::string& how) {
      Tell(number, [&](Seen& seen) { seen.lost = how; });
    };
    OnReactorThread(*reactor_, [&] {
      auto zygote = Zygote::Start(*reactor_, *bases_, options,
                                  BlobFromBytes(CopyBytes(AsBytes(bundle))), -1, events);
      ASSERT_TRUE(zygote.ok()) << zygote.status().ToString();
      zygotes_[number] = std::move(*zygote);
    });
    return number;
  }
  // A session that is being served.
  int Serve(const StageBases::Options& options, const std::string& bundle = "base forks") {
    const int number = Begin(options, bundle);
    EXPECT_TRUE(Wait(number, [](const Seen& seen) { return seen.ready; }));
    EXPECT_TRUE(Look(number).status.ok()) << Look(number).status.ToString();
    return number;
  }
  void End(int number) {
    OnReactorThread(*reactor_, [&] { zygotes_.erase(number); });
  }
  std::string Lost(int number) {
    EXPECT_TRUE(Wait(number, [](const Seen& seen) { return !seen.lost.empty(); }));
    return Look(number).lost;
  }
  Seen Look(int number) {
    const std::lock_guard lock(mutex_);
    return seen_[number];
  }
  std::int64_t Pid(int number) {
    return OnReactorThread(*reactor_, [&] { return zygotes_.at(number)->pid(); });
  }
  std::set<std::int64_t> Bases() {
    const auto pids = OnReactorThread(*reactor_, [this] { return bases_->pids(); });
    return {pids.begin(), pids.end()};
  }
  // Interpreters that were ever started.
  std::vector<std::int64_t> Started() { return Numbers("bases"); }
  std::vector<std::int64_t> Numbers(const std::string& name) {
    return FakeStageNumbers(directory_, name);
  }
  bool Wait(int number, const std::function<bool(const Seen&)>& done) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(60), [&] { return done(seen_[number]); });
  }

  TemporaryDirectory directory_;
  std::unique_ptr<net::Reactor> reactor_;
  std::unique_ptr<StageBases> bases_;
  std::map<int, std::unique_ptr<Zygote>> zygotes_;
  StageBases::Options options_;

 private:
  void Tell(int number, const std::function<void(Seen&)>& change) {
    const std::lock_guard lock(mutex_);
    change(seen_[number]);
    changed_.notify_all();
  }

  int next_ = 1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::map<int, Seen> seen_;
};

TEST_F(StageBasesTest, SessionsOfOneJobShareAnInterpreterAndNoProcess) {
  OnReactorThread(*reactor_, [this] { bases_->Warm(options_); });
  const int first = Serve(options_);
  const int second = Serve(options_);
  End(first);
  const int third = Serve(options_);
  EXPECT_EQ(Started().size(), 1U);
  EXPECT_NE(Pid(second), Pid(third));
  EXPECT_EQ(Bases(), (std::set<std::int64_t>{Started()[0]}));
  EXPECT_EQ(Look(second).lost, "");
}

TEST_F(StageBasesTest, WhatTheInterpreterDependsOnTellsThemApart) {
  Serve(options_);
  const auto other = [this](const std::function<void(StageBases::Options&)>& change) {
    StageBases::Options options = options_;
    change(options);
    Serve(options);
  };
  other([](auto& options) { options.job = JobId(2); });
  other([](auto& options) { options.confinement.memory_bytes = std::uint64_t{1} << 30; });
  other([](auto& options) { options.executable = "python3"; });
  other([](auto& options) { options.stage.sys_path.push_back("/elsewhere"); });
  other([](auto& options) { options.stage.working_directory = "/"; });
  other([](auto& options) { options.stage.version = "3.0"; });
  other([](auto& options) { options.stage.packages["torch"] = "2"; });
  other([](auto& options) { options.stage.hash_seed = "7"; });
  EXPECT_EQ(Started().size(), 9U);
  other([](auto& options) { options.stage.bundle = BlobHash(7); });
  EXPECT_EQ(Started().size(), 9U);
}

TEST_F(StageBasesTest, AnInterpreterThatMustNotBeForkedIsTheZygoteItself) {
  const int first = Serve(options_, "base has threads");
  EXPECT_EQ(Pid(first), Started().at(0));
  EXPECT_TRUE(Bases().empty());  // its time is the zygote's
  // From now on each session of this job gets its own, at once.
  const int second = Serve(options_);
  EXPECT_EQ(Pid(second), Started().at(1));
  ::kill(static_cast<pid_t>(Pid(second)), SIGKILL);
  EXPECT_EQ(Lost(second), "its Python process was killed by signal: Killed");
  EXPECT_EQ(Look(first).lost, "");
}

TEST_F(StageBasesTest, ASessionThatSpoilsASharedInterpreterGetsAnother) {
  const int first = Serve(options_);
  const int second = Serve(options_, "base has threads");
  EXPECT_EQ(Started().size(), 2U);
  EXPECT_EQ(Pid(second), Started().at(1));
  EXPECT_EQ(Look(first).lost, "");
  End(first);  // the spoiled one has nothing left to do
  EXPECT_TRUE(Bases().empty());
}

TEST_F(StageBasesTest, ASessionWhoseImportsEndTheInterpreterGetsOneOfItsOwn) {
  const int first = Serve(options_);
  const int second = Serve(options_, "base dies");
  EXPECT_EQ(Lost(first), "its Python process was killed by signal: Killed");
  EXPECT_EQ(Pid(second), Started().at(1));
}

TEST_F(StageBasesTest, AKilledInterpreterTakesItsSessionsAlongAndIsReplaced) {
  const int first = Serve(options_);
  const int second = Serve(options_);
  ::kill(static_cast<pid_t>(Started().at(0)), SIGKILL);
  EXPECT_EQ(Lost(first), "its Python process was killed by signal: Killed");
  EXPECT_EQ(Lost(second), "its Python process was killed by signal: Killed");
  End(first);
  Serve(options_);
  EXPECT_EQ(Started().size(), 2U);
}

TEST_F(StageBasesTest, ASessionThatServesIsLostWithItsInterpreterAlthoughThatNeverSaidSo) {
  const int session = Serve(options_, "base is slow to tell");
  ::kill(static_cast<pid_t>(Started().at(0)), SIGKILL);
  EXPECT_EQ(Lost(session), "its Python process was killed by signal: Killed");
  EXPECT_EQ(Started().size(), 1U);
}

TEST_F(StageBasesTest, AKilledZygoteIsReportedByTheInterpreterThatLivesOn) {
  const int first = Serve(options_);
  const int second = Serve(options_);
  ::kill(static_cast<pid_t>(Pid(first)), SIGKILL);
  EXPECT_EQ(Lost(first), "its Python process was killed by signal: Killed");
  EXPECT_EQ(Pid(first), 0);
  EXPECT_EQ(Look(second).lost, "");
  Serve(options_);
  EXPECT_EQ(Started().size(), 1U);
}

TEST_F(StageBasesTest, AFewIdleInterpretersAreKept) {
  std::vector<int> sessions;
  for (int job = 1; job <= 4; ++job) {
    options_.job = JobId(job);
    sessions.push_back(Serve(options_));
  }
  EXPECT_EQ(Bases().size(), 4U);
  for (const int session : sessions) End(session);
  EXPECT_EQ(Bases(), (std::set<std::int64_t>{Started().at(2), Started().at(3)}));
}

TEST_F(StageBasesTest, AnIdleInterpreterEnds) {
  Restart(std::chrono::milliseconds(1));
  const int session = Serve(options_);
  EXPECT_EQ(Bases().size(), 1U);  // however long it serves
  End(session);
  while (!Bases().empty()) {  // the reactor's timer ends it
  }
}

TEST_F(StageBasesTest, AnInterpreterThatIsNotThereIsUnsupported) {
  options_.executable = "/no/python";
  OnReactorThread(*reactor_, [this] {
    bases_->Warm(options_);
    const auto begun = Zygote::Start(*reactor_, *bases_, options_, BlobFromBytes({}), -1, {});
    EXPECT_EQ(begun.status().code(), Code::kUnsupported);
    EXPECT_THAT(begun.status().message(), HasSubstr("/no/python"));
  });
}

}  // namespace
}  // namespace headrace::dataworker
