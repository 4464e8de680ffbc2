#include <algorithm>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "trainer_client/draws/draw_planner_fixture.h"

// Random data sets and batches, against a model of the stock loader.
namespace headrace::client {
namespace {

// What the trainer's own Python draws for a sample that has no native form.
void PythonDraw(std::int64_t key, Generators& rng) {
  rng.torch.Discard(3 + static_cast<std::uint64_t>(key) % 700);
  if (rng.python) rng.python->Discard(static_cast<std::uint64_t>(key) * 7 % 900);
  if (rng.python && key % 3 == 0) (void)rng.python->Gauss(0, 1);
  if (rng.numpy) rng.numpy->Discard(static_cast<std::uint64_t>(key) * 5 % 800);
}

struct Data {
  std::vector<TensorSpec> specs;
  std::set<std::int64_t> exotic;  // header not readable
};

Data MakeData(std::mt19937_64& random, std::int64_t rows, bool with_exotic) {
  Data data;
  for (std::int64_t i = 0; i < rows; ++i) {
    const auto height = 1 + static_cast<std::int64_t>(random() % 500);
    const auto width = 20 + static_cast<std::int64_t>(random() % 500);
    if (with_exotic && random() % 20 == 0) data.exotic.insert(i);
    data.specs.push_back(Image(height, with_exotic && random() % 50 == 0 ? kBadWidth : width));
  }
  return data;
}

// The stock loader: every lane by itself, sample after sample.
using Batches = std::vector<std::vector<std::int64_t>>;
std::vector<std::vector<std::int32_t>> Model(const Data& data, const Batches& batches, int lanes,
                                             std::uint64_t seed, int others,
                                             bool numpy_of_worker = true) {
  std::vector<Generators> generators;
  for (int i = 0; i < lanes; ++i) {
    const auto lane = static_cast<std::uint64_t>(i);
    generators.push_back(SeededAlike(seed + lane, others));
    if (others > 1 && numpy_of_worker) {
      generators.back().numpy = ops::NumpyGenerator::OfWorker(seed, lane);
    }
  }
  std::vector<std::vector<std::int32_t>> params;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    Generators& generator = generators[b % static_cast<std::size_t>(lanes)];
    std::vector<std::int32_t>& words = params.emplace_back(batches[b].size() * kWords);
    for (std::size_t i = 0; i < batches[b].size(); ++i) {
      const std::int64_t key = batches[b][i];
      const TensorSpec& spec = data.specs[static_cast<std::size_t>(key)];
      if (data.exotic.contains(key) || spec.dims[1] == kBadWidth) {
        PythonDraw(key, generator);
        continue;
      }
      std::vector<TensorSpec> out;
      EXPECT_TRUE(
          FakeDraw(spec, generator, std::span(words).subspan(i * kWords, kWords), &out).ok());
    }
  }
  return params;
}

Batches MakeBatches(std::mt19937_64& random, std::int64_t rows, std::size_t count) {
  Batches batches(count);
  for (auto& batch : batches) {
    batch.resize(1 + random() % 12);
    for (auto& key : batch) {
      key = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(rows));
    }
  }
  return batches;
}

// Plays session and trainer with answers in random order.
class Driver {
 public:
  Driver(const Data& data, DrawPlanner& planner, std::mt19937_64& random, int others)
      : data_(data), planner_(planner), random_(random), others_(others) {}

  std::map<std::int64_t, PlannedBatch> RunAll(const Batches& batches, std::size_t from = 0) {
    std::map<std::int64_t, PlannedBatch> planned;
    std::size_t submitted = from;
    while (planned.size() < batches.size() - from) {
      if (submitted < batches.size() && random_() % 2 == 0) {
        EXPECT_EQ(planner_.Submit(batches[submitted]), static_cast<std::int64_t>(submitted));
        ++submitted;
      }
      for (const std::int64_t key : planner_.TakeUnknown()) asked_.push_back(key);
      AnswerOne();
      if (auto needed = planner_.TakeNeeded()) {
        Generators generator = SeededAlike(0, others_);
        EXPECT_TRUE(generator.SetState(needed->torch_state).ok());
        PythonDraw(needed->key, generator);
        EXPECT_TRUE(
            planner_.Resolve(needed->batch, needed->position, generator.State(), false).ok());
      }
      while (auto next = planner_.Next()) {
        const std::int64_t batch = next->batch;
        EXPECT_TRUE(planned.emplace(batch, std::move(*next)).second);
      }
    }
    return planned;
  }

 private:
  void AnswerOne() {
    if (asked_.empty()) return;
    std::swap(asked_[random_() % asked_.size()], asked_.back());
    const std::int64_t key = asked_.back();
    asked_.pop_back();
    if (random_() % 10 == 0) {  // the worker died
      planner_.DescribeLost(std::vector{key});
      return;
    }
    const TensorSpec& spec = data_.specs[static_cast<std::size_t>(key)];
    planner_.Described(key, data_.exotic.contains(key) ? std::nullopt : std::optional(spec));
  }

  const Data& data_;
  DrawPlanner& planner_;
  std::mt19937_64& random_;
  int others_;
  std::vector<std::int64_t> asked_;
};

struct Lanes {
  int count;
  int others;
};

class PlannerRandom : public testing::TestWithParam<Lanes> {};

TEST_P(PlannerRandom, LanesDrawAsTheStockLoaderWhateverTheOrderOfAnswers) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto [lanes, others] = GetParam();
  const Data data = MakeData(random, 200, true);
  const Batches batches = MakeBatches(random, 200, 60);
  const auto expected = Model(data, batches, lanes, 77, others);
  DrawPlanner planner(TorchOptions(lanes, 200, others));
  IterationOptions iteration;
  iteration.base_seed = 77;
  ASSERT_TRUE(planner.Begin(iteration).ok());
  const auto planned = Driver(data, planner, random, others).RunAll(batches);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    EXPECT_EQ(planned.at(static_cast<std::int64_t>(b)).params, expected[b]) << b;
    EXPECT_EQ(planned.at(static_cast<std::int64_t>(b)).keys, batches[b]);
  }
}

TEST_P(PlannerRandom, ResumeByLaneDrawsEqualsAContinuousRun) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto [lanes, others] = GetParam();
  // Samples made in the trainer too: their draws can be counted.
  const Data data = MakeData(random, 100, true);
  const Batches batches = MakeBatches(random, 100, 40);
  const auto expected = Model(data, batches, lanes, 5, others);
  const std::size_t stop = 1 + random() % 38;
  DrawPlanner first(TorchOptions(lanes, 100, others));
  IterationOptions iteration;
  iteration.base_seed = 5;
  ASSERT_TRUE(first.Begin(iteration).ok());
  (void)Driver(data, first, random, others).RunAll(batches);  // prefetched beyond `stop`
  for (std::size_t b = 0; b < stop; ++b) first.Delivered(static_cast<std::int64_t>(b));
  const auto draws = first.LaneDraws();
  ASSERT_TRUE(draws.ok()) << draws.status().ToString();

  DrawPlanner second(TorchOptions(lanes, 100, others));
  iteration.first_batch = static_cast<std::int64_t>(stop);
  iteration.lane_draws = *draws;
  ASSERT_TRUE(second.Begin(iteration).ok());
  const auto planned = Driver(data, second, random, others).RunAll(batches, stop);
  for (std::size_t b = stop; b < batches.size(); ++b) {
    EXPECT_EQ(planned.at(static_cast<std::int64_t>(b)).params, expected[b]) << b;
  }
}

TEST_P(PlannerRandom, PersistentLanesGoOnBehindWhatWasSubmitted) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto [lanes, others] = GetParam();
  const Data data = MakeData(random, 50, false);
  const Batches one = MakeBatches(random, 50, static_cast<std::size_t>(lanes) * 3);
  const Batches two = MakeBatches(random, 50, 20);
  Batches both = one;
  both.insert(both.end(), two.begin(), two.end());
  const auto expected = Model(data, both, lanes, 9, others);
  DrawPlanner planner(TorchOptions(lanes, 50, others));
  IterationOptions iteration;
  iteration.base_seed = 9;
  ASSERT_TRUE(planner.Begin(iteration).ok());
  // Abandoned at once, some of it not even drawn: their sizes are not known yet.
  for (const auto& batch : one) planner.Submit(batch);
  iteration.base_seed = 1234;  // not used
  iteration.continue_lanes = true;
  ASSERT_TRUE(planner.Begin(iteration).ok());
  const auto planned = Driver(data, planner, random, others).RunAll(two);
  for (std::size_t b = 0; b < two.size(); ++b) {
    EXPECT_EQ(planned.at(static_cast<std::int64_t>(b)).params, expected[one.size() + b]) << b;
  }
}

TEST_P(PlannerRandom, LanesStartFromGivenSeeds) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const auto [lanes, others] = GetParam();
  const Data data = MakeData(random, 50, false);
  const Batches batches = MakeBatches(random, 50, 20);
  const auto expected = Model(data, batches, lanes, 9000, others, false);
  DrawPlanner planner(TorchOptions(lanes, 50, others));
  IterationOptions iteration;
  iteration.base_seed = 1;
  for (int i = 0; i < lanes; ++i) {
    iteration.lane_seeds.push_back(9000 + static_cast<std::uint64_t>(i));
  }
  for (int i = 0; i < others * lanes; ++i) {
    iteration.lane_seeds.push_back(9000 + static_cast<std::uint64_t>(i % lanes));
  }
  ASSERT_TRUE(planner.Begin(iteration).ok());
  const auto planned = Driver(data, planner, random, others).RunAll(batches);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    EXPECT_EQ(planned.at(static_cast<std::int64_t>(b)).params, expected[b]) << b;
  }
}

TEST_P(PlannerRandom, LanesGoOnFromTorchStatesAndTellWhereTheyAre) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Data data = MakeData(random, 60, true);
  const auto [lanes, others] = GetParam();
  const Batches batches = MakeBatches(random, 60, 12);
  DrawPlanner whole(TorchOptions(lanes, 60, others));
  IterationOptions iteration;
  for (int i = 0; i < lanes; ++i) {
    iteration.lane_states.push_back(SeededAlike(7 + static_cast<std::uint64_t>(i), others).State());
  }
  ASSERT_TRUE(whole.Begin(iteration).ok());
  const auto expected = Driver(data, whole, random, others).RunAll(batches);
  const auto model = Model(data, batches, lanes, 7, others, false);
  for (const auto& [number, planned] : expected) {
    EXPECT_EQ(planned.params, model[static_cast<std::size_t>(number)]) << number;
  }

  // Another planner goes on after the first batch of each lane.
  iteration.first_batch = lanes;
  for (int i = 0; i < lanes; ++i) {
    iteration.lane_states[static_cast<std::size_t>(i)] = expected.at(i).lane_state;
  }
  DrawPlanner later(TorchOptions(lanes, 60, others));
  ASSERT_TRUE(later.Begin(iteration).ok());
  for (const auto& [number, planned] :
       Driver(data, later, random, others).RunAll(batches, static_cast<std::size_t>(lanes))) {
    EXPECT_EQ(planned.params, expected.at(number).params) << number;
    EXPECT_EQ(planned.lane_state, expected.at(number).lane_state) << number;
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, PlannerRandom,
                         testing::Values(Lanes{1, 0}, Lanes{1, 1}, Lanes{1, 2}, Lanes{2, 0},
                                         Lanes{3, 1}, Lanes{3, 2}, Lanes{8, 0}, Lanes{8, 1},
                                         Lanes{8, 2}));

}  // namespace
}  // namespace headrace::client
