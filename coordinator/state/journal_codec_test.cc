#include "coordinator/state/journal_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <concepts>
#include <cstddef>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "coordinator/state/state_test_util.h"

namespace headrace::coordinator {
namespace {

// Draws updates. The structured bindings name every field of a record: a new field does not compile
// here until it is drawn too.
class Draw {
 public:
  explicit Draw(unsigned seed) : rng_(seed) {}

  void Fill(AddJob& u) {
    auto& [job, consumer, token, name, host, version, wanted_workers, cache_bytes, opened_ms,
           tenant, priority, group, rank, link_bytes_per_second, rack] = u;
    All(job, consumer, token, name, host, version, wanted_workers, cache_bytes, opened_ms, tenant,
        priority, group, rank, link_bytes_per_second, rack);
  }
  void Fill(MarkJobLost& u) { One(u); }
  void Fill(ReviveJob& u) { One(u); }
  void Fill(RemoveJob& u) { One(u); }
  void Fill(AddSession& u) {
    auto& [job, session, plan_name, plan_hash, split, dataset, rows, lanes_stay, far, everywhere,
           source, prefixes, leaves] = u;
    All(job, session, plan_name, plan_hash, split, dataset, rows, lanes_stay, far, everywhere,
        source, prefixes, leaves);
  }
  void Fill(RemoveSession& u) {
    auto& [job, session] = u;
    All(job, session);
  }
  void Fill(AddWorker& u) {
    auto& [token, info] = u;
    All(token, info);
  }
  void Fill(MarkWorkerLost& u) { One(u); }
  void Fill(ReviveWorker& u) { One(u); }
  void Fill(DrainWorker& u) {
    auto& [worker, reason] = u;
    All(worker, reason);
  }
  void Fill(HoldBack& u) { One(u); }
  void Fill(ForgetHeldBack&) {}
  void Fill(RemoveWorker& u) {
    auto& [worker, cpu_seconds] = u;
    All(worker, cpu_seconds);
  }
  void Fill(SetLeases& u) {
    auto& [job, generation, workers] = u;
    All(job, generation, workers);
  }
  void Fill(RememberJob& u) {
    auto& [job, name, hostname, pid, tenant, group, rank, opened_ms, ended_ms, end, totals] = u.job;
    All(job, name, hostname, pid, tenant, group, rank, opened_ms, ended_ms, end);
    wire::JobTotals::EachMetric([&](const Metric&, auto member) { Fill(totals.*member); });
  }
  void Fill(OrderJob& u) {
    auto& [job, cancelled, priority] = u;
    All(job, cancelled);
    priority.reset();
    if (rng_() % 2 == 0) Fill(priority.emplace());
  }
  void Fill(RememberDataset& u) {
    auto& [dataset, name, tenant, rows, last, jobs, leaves] = u;
    All(dataset, name, tenant, rows, last, jobs, leaves);
  }
  void Fill(PinDataset& u) {
    auto& [dataset, bytes] = u;
    All(dataset, bytes);
  }
  void Fill(UnpinDataset& u) { One(u); }
  void Fill(SetCounters& u) {
    auto& [next_job, next_consumer, next_worker, ended_cpu_seconds] = u;
    All(next_job, next_consumer, next_worker, ended_cpu_seconds);
  }

 private:
  template <typename... T>
  void All(T&... fields) {
    (Fill(fields), ...);
  }
  template <typename T>
  void One(T& update) {
    auto& [field] = update;
    Fill(field);
  }
  void Fill(wire::WorkerInfo& info) {
    // A worker's own words have no pass, and the journal none.
    auto& [worker, endpoints, arena_path, host, cores, version, cache_bytes, local, tiers, pass,
           share_from_bytes, millicores, link_bytes_per_second, rack, member] = info;
    pass.clear();
    All(worker, endpoints, arena_path, host, cores, version, cache_bytes, local, tiers,
        share_from_bytes, millicores, link_bytes_per_second, rack, member);
  }
  void Fill(wire::BadSample& sample) {
    auto& [data_set, row, name, cause, times, held_back] = sample;
    All(data_set, row, name, cause, times);
    held_back = true;  // the others have no record
  }
  void Fill(wire::TierBytes& budget) {
    auto& [tier, bytes] = budget;
    All(tier, bytes);
  }
  void Fill(wire::HostIdentity& host) {
    auto& [hostname, boot_id, uid, pid] = host;
    All(hostname, boot_id, uid, pid);
  }
  void Fill(wire::Split& split) {
    auto& [worker_nodes, cache_node, tail_node] = split;
    All(worker_nodes, cache_node, tail_node);
  }
  template <typename Tag>
  void Fill(StrongId<Tag>& id) {
    Fill(id.value);
  }
  template <typename T>
  void Fill(std::vector<T>& list) {
    list.resize(rng_() % 4);
    for (T& each : list) Fill(each);
  }
  void Fill(std::string& text) {
    static const std::vector<std::string> kParts = {"node", "/", "\"", "\\", "\n", "ä", "中", " "};
    text.clear();
    for (auto left = rng_() % 6; left > 0; --left) text += kParts[rng_() % kParts.size()];
  }
  void Fill(bool& flag) { flag = rng_() % 2 == 0; }
  void Fill(double& value) { value = std::uniform_real_distribution<double>(0, 1e9)(rng_); }
  template <std::integral T>
  void Fill(T& value) {
    using Limits = std::numeric_limits<T>;
    value = std::uniform_int_distribution<T>(Limits::min(), Limits::max())(rng_);
    if (rng_() % 8 == 0) value = rng_() % 2 == 0 ? Limits::min() : Limits::max();
  }

  std::mt19937 rng_;
};

template <typename T>
void ExpectKept(unsigned seed) {
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  T update;
  Draw(seed).Fill(update);
  const std::string text = EncodeUpdate(update);
  const Result<Update> decoded = DecodeUpdate(text);
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString() << "\n" << text;
  EXPECT_TRUE(SameUpdate(*decoded, update))
      << "wrote " << text << "\nread  " << EncodeUpdate(*decoded);
}

template <std::size_t... kIndex>
void ExpectAllKept(unsigned seed, std::index_sequence<kIndex...>) {
  const auto check = [&]<typename T>(T update) {
    if constexpr (requires(Draw draw) { draw.Fill(update); }) {
      EXPECT_TRUE(IsDurable(update));
      ExpectKept<T>(seed);
    } else {
      EXPECT_FALSE(IsDurable(update)) << "alternative is not drawn";
    }
  };
  (check(std::variant_alternative_t<kIndex, Update>()), ...);
}

// What a coordinator knew before its restart it knows afterwards, also which workers are local.
TEST(JournalCodec, EveryFieldOfEveryDurableUpdateIsKept) {
  for (unsigned seed = 0; seed < 300 && !testing::Test::HasFailure(); ++seed) {
    ExpectAllKept(seed, std::make_index_sequence<std::variant_size_v<Update>>());
  }
}

TEST(JournalCodec, RefusesWhatIsNotARecord) {
  for (const char* text : {"", "{", "[]", "{}", R"({"type":"add_job"})", R"({"type":"nonsense"})",
                           R"({"type":"job_lost","job":"one"})", R"({"type":"job_lost","job":1.5})",
                           R"({"type":"job_lost","job":4e43})",
                           R"({"type":"job_lost","job":1,"more":[[[[[[[[[1]]]]]]]]]})"}) {
    EXPECT_EQ(DecodeUpdate(text).status().code(), Code::kDataLoss) << text;
  }
}

TEST(JournalCodec, TextThatIsNotUtf8DoesNotStopTheJournal) {
  AddJob job;
  job.job = JobId(1);
  job.name = "train\xff.py";
  const Result<Update> decoded = DecodeUpdate(EncodeUpdate(job));
  ASSERT_TRUE(decoded.ok());
  EXPECT_EQ(std::get<AddJob>(*decoded).name, "train\xef\xbf\xbd.py");
}

// Records of the releases that had no local workers.
TEST(JournalCodec, AWorkerWithoutTheFieldIsNotLocal) {
  const Result<Update> decoded =
      DecodeUpdate(R"({"type":"add_worker","worker":3,"token":"t","endpoints":[],"host":{}})");
  ASSERT_TRUE(decoded.ok()) << decoded.status().ToString();
  EXPECT_FALSE(std::get<AddWorker>(*decoded).info.local);
}

}  // namespace
}  // namespace headrace::coordinator
