// Random sequences of calls over one to three tiers, against a dictionary.
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "dataworker/cache/divide_quota.h"
#include "dataworker/cache/sample_store_fixture.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

unsigned Seed() {
  const int given = ::testing::UnitTest::GetInstance()->random_seed();
  return given != 0 ? static_cast<unsigned>(given) : 20260101U;
}

// A random sequence of calls, and a dictionary that says what may be found.
class RandomCalls {
 public:
  RandomCalls(Stack& stack, unsigned seed, bool exact)
      : stack_(stack), random_(seed), exact_(exact) {
    for (const JobId job : {kJob, kOther}) {
      stack_.store->AddJob(job, kNoQuota);
      quotas_[job] = DivideQuota(kNoQuota, stack_.budgets);
    }
  }

  void Step() {
    Before();
    switch (random_() % (exact_ ? 4 : 12)) {
      case 0:
      case 1:
      case 2:
      case 3:
        GetOrMake();
        break;
      case 4:
        OpenLookup();
        break;
      case 5:
        stack_.AnswerOne();
        break;
      case 6:
        Pin();
        break;
      case 7:
        if (!pins_.empty()) pins_.erase(pins_.begin() + static_cast<int>(random_() % pins_.size()));
        break;
      case 8:
        SetQuota();
        break;
      case 9:
        Freeze();
        break;
      case 10:
        ComeAndGo();
        break;
      case 11:
        Fail();
        break;
    }
    Check();
  }
  void Finish() {
    while (open_ > 0) {
      pins_.clear();
      ASSERT_TRUE(stack_.AnswerOne());
    }
    EXPECT_GT(hits_, 100);
  }

 private:
  struct Sample {
    std::uint64_t inode = 0;
    std::int64_t version = 0;
    friend auto operator<=>(const Sample&, const Sample&) = default;
  };
  static std::size_t SizeOf(std::uint64_t inode) { return inode % 7 * 1000; }

  Sample RandomSample() {
    const std::uint64_t inode = random_() % 120;
    if (random_() % 100 == 0) ++versions_[inode];
    return {inode, versions_[inode]};
  }
  JobId RandomJob() { return random_() % 2 == 0 ? kJob : kOther; }

  void CheckFound(const Sample& sample, const CachePin& pin) {
    if (pin) {
      ++hits_;
      // A lookup may miss an entry that another one moves up meanwhile, so a miss proves nothing.
      ASSERT_TRUE((exact_ ? stored_ : ever_).contains(sample)) << "never stored";
      ASSERT_TRUE(Equal(pin.bytes(), Payload(sample.inode, sample.version, SizeOf(sample.inode))));
      ASSERT_EQ(pin.bytes().size(), SizeOf(sample.inode));
    } else if (exact_) {
      ASSERT_FALSE(stored_.contains(sample)) << sample.inode << " is lost";
    }
  }
  void GetOrMake() {
    const Sample sample = RandomSample();
    const JobId job = RandomJob();
    const CacheKey key = Key(sample.inode, sample.version);
    if (pins_.size() + static_cast<std::size_t>(open_) >= SampleStore::kMostFetches) pins_.clear();
    CachePin pin = AskStore(*stack_.store, job, key, [this] {
                     if (!stack_.AnswerOne()) pins_.clear();
                   }).pin;
    CheckFound(sample, pin);
    if (pin) return;
    std::erase_if(stored_, [&](const Sample& each) { return each.inode == sample.inode; });
    auto claim = stack_.store->TryClaim(job, key, SizeOf(sample.inode));
    if (!claim || random_() % 10 == 0) return;
    if (claim.Commit(Payload(sample.inode, sample.version, SizeOf(sample.inode)))) {
      stored_.insert(sample);
      ever_.insert(sample);
    }
  }
  void OpenLookup() {
    const Sample sample = RandomSample();
    const JobId job = RandomJob();
    const CacheKey key = Key(sample.inode, sample.version);
    const CacheLookup found = stack_.store->Find(job, key);
    if (!found.later) return;
    ++open_;
    stack_.store->FindLater(job, key, found,
                            [this, sample, times = 0](const CacheLookup& answer) mutable {
                              EXPECT_EQ(++times, 1);
                              --open_;
                              if (answer.pin) {
                                EXPECT_TRUE(ever_.contains(sample));
                                pins_.push_back({sample, answer.pin});
                              }
                            });
  }
  void Pin() {
    const Sample sample = RandomSample();
    CacheLookup found = stack_.store->Find(kJob, Key(sample.inode, sample.version));
    if (found.pin) pins_.push_back({sample, std::move(found.pin)});
  }
  void SetQuota() {
    const JobId job = RandomJob();
    StoreQuota quota;
    if (random_() % 3 == 0) {
      stack_.store->SetQuota(job, std::nullopt);
      quotas_[job] = DivideQuota(kNoQuota, stack_.budgets);
      return;
    }
    if (random_() % 2 == 0) {
      quota.bytes = random_() % 900'000;
      quotas_[job] = DivideQuota(quota.bytes, stack_.budgets);
    } else {
      for (std::size_t i = 0; i < stack_.tiers.size(); ++i) {
        quotas_[job][i] = random_() % 400'000;
        quota.tiers.emplace_back("tier" + std::to_string(i), quotas_[job][i]);
      }
    }
    stack_.store->SetQuota(job, quota);
    if (!pins_.empty()) return;
    for (std::size_t i = 0; i < stack_.tiers.size(); ++i) {
      EXPECT_LE(StatsOf(*stack_.tiers[i], job).bytes, quotas_[job][i]) << "tier " << i;
    }
  }
  void Freeze() {
    const JobId job = RandomJob();
    stack_.store->FreezeQuota(job);
    for (std::size_t i = 0; i < stack_.tiers.size(); ++i) {
      quotas_[job][i] = StatsOf(*stack_.tiers[i], job).bytes;
    }
  }
  void ComeAndGo() {
    const JobId job = RandomJob();
    stack_.store->RemoveJob(job);
    if (random_() % 2 == 0) GetOrMake();
    stack_.store->AddJob(job, kNoQuota);
  }
  void Fail() {
    if (stack_.slow.empty()) return;
    FakeSlowTier& tier = *stack_.slow[random_() % stack_.slow.size()];
    tier.SetFaults({.full = random_() % 2 == 0 ? 0.3 : 0, .corrupt = random_() % 2 == 0 ? 0.2 : 0});
    if (hits_ > 200 && random_() % 50 == 0) tier.TakeAway();
  }

  void Before() {
    for (std::size_t i = 0; i < stack_.tiers.size(); ++i) {
      for (const JobId job : {kJob, kOther}) {
        before_[{i, job}] = StatsOf(*stack_.tiers[i], job).bytes;
      }
    }
  }
  void Check() {
    std::uint64_t entries = 0;
    for (std::size_t i = 0; i < stack_.tiers.size(); ++i) {
      const CacheStats stats = stack_.tiers[i]->Stats();
      ASSERT_LE(stats.bytes, stack_.budgets[i]) << "tier " << i;
      entries += stats.entries;
      for (const JobId job : {kJob, kOther}) {
        // A pin or a claim may keep what was there; nothing is added beyond the quota.
        ASSERT_LE(StatsOf(*stack_.tiers[i], job).bytes,
                  std::max(quotas_[job][i], before_[{i, job}]))
            << "tier " << i;
      }
    }
    ASSERT_TRUE(!exact_ || entries == stored_.size()) << "an entry is in one tier";
    for (const auto& [sample, pin] : pins_) {
      ASSERT_TRUE(Equal(pin.bytes(), Payload(sample.inode, sample.version, SizeOf(sample.inode))));
    }
  }

  Stack& stack_;
  std::mt19937 random_;
  const bool exact_;
  std::map<std::uint64_t, std::int64_t> versions_;
  std::set<Sample> stored_;  // and not replaced since
  std::set<Sample> ever_;
  std::vector<std::pair<Sample, CachePin>> pins_;
  std::map<JobId, std::vector<std::uint64_t>> quotas_;
  std::map<std::pair<std::size_t, JobId>, std::uint64_t> before_;
  int open_ = 0;
  int hits_ = 0;
};

class RandomStore : public testing::TestWithParam<std::tuple<int, bool, bool>> {};

TEST_P(RandomStore, EqualsTheModelAndKeepsBudgetsQuotasAndPins) {
  const auto [tiers, memory, exact] = GetParam();
  for (unsigned round = 0; round < 3; ++round) {
    const unsigned seed = Seed() + round;
    SCOPED_TRACE("seed " + std::to_string(seed) + " (--gtest_random_seed)");
    std::mt19937 random(seed);
    std::vector<std::uint64_t> budgets;
    for (int i = 0; i < tiers; ++i) budgets.push_back(50'000 + random() % 200'000);
    Stack stack(memory, budgets, seed);
    RandomCalls calls(stack, seed, exact);
    for (int step = 0; step < 5000 && !HasFatalFailure(); ++step) calls.Step();
    if (!HasFatalFailure()) calls.Finish();
  }
}

INSTANTIATE_TEST_SUITE_P(Tiers, RandomStore,
                         testing::Combine(testing::Values(1, 2, 3), testing::Bool(),
                                          testing::Bool()),
                         [](const auto& each) {
                           return std::to_string(std::get<0>(each.param)) +
                                  (std::get<1>(each.param) ? "FirstInMemory" : "AllSlow") +
                                  (std::get<2>(each.param) ? "Exact" : "WithFaults");
                         });

}  // namespace
}  // namespace headrace::dataworker
