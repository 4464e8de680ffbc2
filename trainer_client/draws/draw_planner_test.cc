// Length: one class, and a model of it that all tests share.
#include "trainer_client/draws/draw_planner.h"

#include <algorithm>
#include <array>
#include <bit>
#include <map>
#include <random>
#include <set>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/chain.h"

namespace headrace::client {
namespace {

using ops::TorchGenerator;
using ::testing::ElementsAre;

constexpr int kWords = 2;
constexpr std::int64_t kBadWidth = 13;  // the framework raises on it

TensorSpec Image(std::int64_t height, std::int64_t width) {
  return {DType::kU8, Layout::kHwc, {height, width, 3}};
}

// How much it draws depends on the size and on the numbers, as in RandomResizedCrop, and some of it
// comes in pairs, of which one is kept for the next sample, as in AugMix.
Status FakeDraw(const TensorSpec& in, TorchGenerator& rng, ops::MutableParams params,
                TensorSpec* out) {
  std::uint32_t last = rng.Next();
  for (std::int64_t i = 0; i < in.dims[0] % 5 || last % 4 == 0; ++i) last = rng.Next();
  if (in.dims[1] == kBadWidth) return InvalidArgument("too small");
  std::array<float, 2> weights{};
  if (in.dims[0] % 3 == 0) rng.Dirichlet(1, std::span(weights).first(1 + last % 2));
  params[0] = static_cast<std::int32_t>(last ^ std::bit_cast<std::uint32_t>(weights[0]));
  params[1] = static_cast<std::int32_t>(in.dims[1]);
  *out = TensorSpec{DType::kF32, Layout::kChw, {3, 224, 224}};
  return Status::Ok();
}

// What the trainer's own Python draws for a sample that has no native form.
void PythonDraw(std::int64_t key, TorchGenerator& rng) { rng.Discard(3 + key % 700); }

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
                                             std::uint64_t seed) {
  std::vector<TorchGenerator> generators;
  for (int i = 0; i < lanes; ++i) generators.emplace_back(seed + static_cast<std::uint64_t>(i));
  std::vector<std::vector<std::int32_t>> params;
  for (std::size_t b = 0; b < batches.size(); ++b) {
    TorchGenerator& generator = generators[b % static_cast<std::size_t>(lanes)];
    std::vector<std::int32_t>& words = params.emplace_back(batches[b].size() * kWords);
    for (std::size_t i = 0; i < batches[b].size(); ++i) {
      const std::int64_t key = batches[b][i];
      const TensorSpec& spec = data.specs[static_cast<std::size_t>(key)];
      if (data.exotic.contains(key) || spec.dims[1] == kBadWidth) {
        PythonDraw(key, generator);
        continue;
      }
      TensorSpec out;
      EXPECT_TRUE(
          FakeDraw(spec, generator, std::span(words).subspan(i * kWords, kWords), &out).ok());
    }
  }
  return params;
}

DrawPlanner::Options TorchOptions(int lanes, std::int64_t rows) {
  DrawPlanner::Options options;
  options.rng = RngMode::kTorch;
  options.lanes = lanes;
  options.param_words = kWords;
  options.draw = FakeDraw;
  options.dims = std::make_shared<SizeTable>(rows);
  options.keys = rows;
  return options;
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
  Driver(const Data& data, DrawPlanner& planner, std::mt19937_64& random)
      : data_(data), planner_(planner), random_(random) {}

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
        TorchGenerator generator;
        EXPECT_TRUE(generator.SetTorchState(needed->torch_state).ok());
        PythonDraw(needed->key, generator);
        EXPECT_TRUE(
            planner_.Resolve(needed->batch, needed->position, generator.TorchState(), false).ok());
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
  std::vector<std::int64_t> asked_;
};

class PlannerRandom : public testing::TestWithParam<int> {};

TEST_P(PlannerRandom, LanesDrawAsTheStockLoaderWhateverTheOrderOfAnswers) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const int lanes = GetParam();
  const Data data = MakeData(random, 200, true);
  const Batches batches = MakeBatches(random, 200, 60);
  const auto expected = Model(data, batches, lanes, 77);
  DrawPlanner planner(TorchOptions(lanes, 200));
  IterationOptions iteration;
  iteration.base_seed = 77;
  ASSERT_TRUE(planner.Begin(iteration).ok());
  const auto planned = Driver(data, planner, random).RunAll(batches);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    EXPECT_EQ(planned.at(static_cast<std::int64_t>(b)).params, expected[b]) << b;
    EXPECT_EQ(planned.at(static_cast<std::int64_t>(b)).keys, batches[b]);
  }
}

TEST_P(PlannerRandom, ResumeByLaneDrawsEqualsAContinuousRun) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const int lanes = GetParam();
  // Samples made in the trainer too: their draws can be counted.
  const Data data = MakeData(random, 100, true);
  const Batches batches = MakeBatches(random, 100, 40);
  const auto expected = Model(data, batches, lanes, 5);
  const std::size_t stop = 1 + random() % 38;
  DrawPlanner first(TorchOptions(lanes, 100));
  IterationOptions iteration;
  iteration.base_seed = 5;
  ASSERT_TRUE(first.Begin(iteration).ok());
  (void)Driver(data, first, random).RunAll(batches);  // prefetched beyond `stop`
  for (std::size_t b = 0; b < stop; ++b) first.Delivered(static_cast<std::int64_t>(b));
  const auto draws = first.LaneDraws();
  ASSERT_TRUE(draws.ok()) << draws.status().ToString();

  DrawPlanner second(TorchOptions(lanes, 100));
  iteration.first_batch = static_cast<std::int64_t>(stop);
  iteration.lane_draws = *draws;
  ASSERT_TRUE(second.Begin(iteration).ok());
  const auto planned = Driver(data, second, random).RunAll(batches, stop);
  for (std::size_t b = stop; b < batches.size(); ++b) {
    EXPECT_EQ(planned.at(static_cast<std::int64_t>(b)).params, expected[b]) << b;
  }
}

TEST_P(PlannerRandom, PersistentLanesGoOnBehindWhatWasSubmitted) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const int lanes = GetParam();
  const Data data = MakeData(random, 50, false);
  const Batches one = MakeBatches(random, 50, static_cast<std::size_t>(lanes) * 3);
  const Batches two = MakeBatches(random, 50, 20);
  Batches both = one;
  both.insert(both.end(), two.begin(), two.end());
  const auto expected = Model(data, both, lanes, 9);
  DrawPlanner planner(TorchOptions(lanes, 50));
  IterationOptions iteration;
  iteration.base_seed = 9;
  ASSERT_TRUE(planner.Begin(iteration).ok());
  // Abandoned at once, some of it not even drawn: their sizes are not known yet.
  for (const auto& batch : one) planner.Submit(batch);
  iteration.base_seed = 1234;  // not used
  iteration.continue_lanes = true;
  ASSERT_TRUE(planner.Begin(iteration).ok());
  const auto planned = Driver(data, planner, random).RunAll(two);
  for (std::size_t b = 0; b < two.size(); ++b) {
    EXPECT_EQ(planned.at(static_cast<std::int64_t>(b)).params, expected[one.size() + b]) << b;
  }
}

INSTANTIATE_TEST_SUITE_P(Lanes, PlannerRandom, testing::Values(1, 2, 3, 8));

// Height and width of each row; absent: no native form.
using Sizes = std::vector<std::optional<std::pair<int, int>>>;
DrawPlanner SmallPlanner(int lanes, const Sizes& sizes) {
  auto options = TorchOptions(lanes, static_cast<std::int64_t>(sizes.size()));
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    const auto& size = sizes[i];
    options.dims->Set(static_cast<std::int64_t>(i),
                      size ? std::optional(Image(size->first, size->second)) : std::nullopt);
  }
  return DrawPlanner(std::move(options));
}

TEST(DrawPlanner, ReplanAfterARaisingSampleGoesOnFromItsState) {
  DrawPlanner planner = SmallPlanner(2, {{{10, 30}}, {{11, 31}}, {{12, 32}}});
  IterationOptions iteration;
  iteration.base_seed = 3;
  ASSERT_TRUE(planner.Begin(iteration).ok());
  for (int b = 0; b < 5; ++b) planner.Submit({0, 1, 2});
  std::map<std::int64_t, std::vector<std::int32_t>> before;
  while (auto next = planner.Next()) before[next->batch] = next->params;
  // Sample 1 of batch 0 turned out to be damaged when the trainer made it.
  MissingSample missing;
  missing.position = 1;
  planner.DescribeState(0, missing);
  planner.Delivered(0);
  const auto again = planner.Replan(0, missing.torch_state);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(*again, (std::vector<std::int64_t>{2, 4}));
  // Expected: lane 0 drew sample 0 only, then batch 2.
  TorchGenerator generator(3);
  std::vector<std::int32_t> words(kWords);
  TensorSpec out;
  ASSERT_TRUE(FakeDraw(Image(10, 30), generator, words, &out).ok());
  EXPECT_EQ(planner.LaneDraws()->front(), generator.draws());
  ASSERT_TRUE(FakeDraw(Image(10, 30), generator, words, &out).ok());
  const auto batch2 = planner.Next();
  ASSERT_TRUE(batch2.has_value());
  EXPECT_EQ(batch2->batch, 2);
  EXPECT_EQ(std::vector(batch2->params.begin(), batch2->params.begin() + kWords), words);
  EXPECT_EQ(planner.Next()->batch, 4);
  EXPECT_FALSE(planner.Next().has_value());
}

TEST(DrawPlanner, WhatIsPlannedKeepsItsSizesWhenAnImageChanges) {
  DrawPlanner planner = SmallPlanner(1, {{{10, 30}}, {{11, 31}}, {{12, 32}}});
  IterationOptions iteration;
  iteration.base_seed = 3;
  ASSERT_TRUE(planner.Begin(iteration).ok());
  planner.Submit({0, 1, 2});
  const auto planned = planner.Next();
  ASSERT_TRUE(planned.has_value());
  EXPECT_THAT(planned->specs, ElementsAre(Image(10, 30), Image(11, 31), Image(12, 32)));
  MissingSample before, after;
  before.position = after.position = 2;
  planner.DescribeState(0, before);
  planner.SizeChanged(1);
  planner.DescribeState(0, after);
  EXPECT_EQ(after.torch_state, before.torch_state);
  EXPECT_EQ(after.torch_state_after, before.torch_state_after);
  // Where the lane is after the batch.
  TorchGenerator generator(3);
  std::vector<std::int32_t> words(kWords);
  TensorSpec out;
  for (const TensorSpec& spec : {Image(10, 30), Image(11, 31), Image(12, 32)}) {
    ASSERT_TRUE(FakeDraw(spec, generator, words, &out).ok());
  }
  EXPECT_EQ(after.torch_state_after, generator.TorchState());
  // What is drawn from now on waits for the new size.
  planner.Submit({1});
  EXPECT_FALSE(planner.Next().has_value());
  EXPECT_EQ(planner.TakeUnknown(), (std::vector<std::int64_t>{1}));
  planner.Described(1, Image(47, 7));
  const auto next = planner.Next();
  ASSERT_TRUE(next.has_value());
  EXPECT_THAT(next->specs, ElementsAre(Image(47, 7)));
  ASSERT_TRUE(FakeDraw(Image(47, 7), generator, words, &out).ok());
  EXPECT_EQ(next->params, words);
}

TEST(DrawPlanner, FailedSampleEndsItsBatchAndTheLaneGoesOn) {
  DrawPlanner planner = SmallPlanner(1, {{{10, 30}}, std::nullopt, {{12, 32}}});
  ASSERT_TRUE(planner.Begin({}).ok());
  planner.Submit({0, 1, 2});
  planner.Submit({2});
  EXPECT_FALSE(planner.Next().has_value());
  const auto needed = planner.TakeNeeded();
  ASSERT_TRUE(needed.has_value());
  EXPECT_EQ(needed->position, 1);
  EXPECT_EQ(planner.Resolve(0, 2, needed->torch_state, true).code(), Code::kInvalidArgument);
  ASSERT_TRUE(planner.Resolve(0, 1, needed->torch_state, true).ok());
  EXPECT_EQ(planner.Next()->skip, (std::vector<std::int32_t>{1, 2}));
  ASSERT_EQ(planner.UnmadePositions(0).size(), 1U);
  EXPECT_EQ(planner.UnmadePositions(0)[0].position, 1);
  EXPECT_EQ(planner.Next()->batch, 1);
}

TEST(DrawPlanner, ForeignStateCannotBeResumedByCounting) {
  DrawPlanner planner = SmallPlanner(1, {std::nullopt});
  ASSERT_TRUE(planner.Begin({}).ok());
  planner.Submit({0});
  const auto needed = planner.TakeNeeded();
  ASSERT_TRUE(planner.Resolve(0, 0, TorchGenerator(99).TorchState(), false).ok());
  (void)planner.Next();
  EXPECT_TRUE(planner.LaneDraws().ok());  // not delivered yet
  planner.Delivered(0);
  EXPECT_EQ(planner.LaneDraws().status().code(), Code::kUnsupported);
}

TEST(DrawPlanner, KeyOutsideOfTheDataIsTheTrainersToRaiseOn) {
  DrawPlanner planner = SmallPlanner(1, {{{10, 30}}});
  ASSERT_TRUE(planner.Begin({}).ok());
  planner.Submit({5});
  EXPECT_EQ(planner.TakeNeeded()->key, 5);
  DrawPlanner::Options options;
  options.keys = 2;
  DrawPlanner plain(std::move(options));
  ASSERT_TRUE(plain.Begin({}).ok());
  plain.Submit({0, -1, 2});
  EXPECT_EQ(plain.Next()->skip, (std::vector<std::int32_t>{1, 2}));
}

TEST(DrawPlanner, SampleSeedsCountARepeatedKeyAlsoAcrossAResume) {
  DrawPlanner::Options options;
  options.rng = RngMode::kSample;
  DrawPlanner planner(std::move(options));
  IterationOptions iteration;
  iteration.base_seed = 4;
  ASSERT_TRUE(planner.Begin(iteration).ok());
  planner.Skip(std::vector<std::int64_t>{7, 8});
  planner.Submit({7, 9, 7});
  const auto planned = planner.Next();
  EXPECT_EQ(planned->seeds, (std::vector<std::uint64_t>{ops::Chain::SampleSeed(4, 7, 1),
                                                        ops::Chain::SampleSeed(4, 9, 0),
                                                        ops::Chain::SampleSeed(4, 7, 2)}));
}

TEST(DrawPlanner, StateOfAnotherNumberOfLanesIsRefused) {
  DrawPlanner planner = SmallPlanner(2, {{{10, 30}}});
  IterationOptions iteration;
  iteration.lane_draws = {1, 2, 3};
  EXPECT_EQ(planner.Begin(iteration).code(), Code::kInvalidArgument);
  iteration.lane_draws = {};
  iteration.lane_seeds = {1};
  EXPECT_EQ(planner.Begin(iteration).code(), Code::kInvalidArgument);
}

TEST_P(PlannerRandom, LanesStartFromGivenSeeds) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const int lanes = GetParam();
  const Data data = MakeData(random, 50, false);
  const Batches batches = MakeBatches(random, 50, 20);
  const auto expected = Model(data, batches, lanes, 9000);
  DrawPlanner planner(TorchOptions(lanes, 50));
  IterationOptions iteration;
  iteration.base_seed = 1;
  for (int i = 0; i < lanes; ++i) {
    iteration.lane_seeds.push_back(9000 + static_cast<std::uint64_t>(i));
  }
  ASSERT_TRUE(planner.Begin(iteration).ok());
  const auto planned = Driver(data, planner, random).RunAll(batches);
  for (std::size_t b = 0; b < batches.size(); ++b) {
    EXPECT_EQ(planned.at(static_cast<std::int64_t>(b)).params, expected[b]) << b;
  }
}

TEST_P(PlannerRandom, LanesGoOnFromTorchStatesAndTellWhereTheyAre) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  const Data data = MakeData(random, 60, true);
  const int lanes = GetParam();
  const Batches batches = MakeBatches(random, 60, 12);
  DrawPlanner whole(TorchOptions(lanes, 60));
  IterationOptions iteration;
  for (int i = 0; i < lanes; ++i) {
    iteration.lane_states.push_back(TorchGenerator(7 + static_cast<std::uint64_t>(i)).TorchState());
  }
  ASSERT_TRUE(whole.Begin(iteration).ok());
  const auto expected = Driver(data, whole, random).RunAll(batches);
  const auto model = Model(data, batches, lanes, 7);
  for (const auto& [number, planned] : expected) {
    EXPECT_EQ(planned.params, model[static_cast<std::size_t>(number)]) << number;
  }

  // Another planner goes on after the first batch of each lane.
  iteration.first_batch = lanes;
  for (int i = 0; i < lanes; ++i) {
    iteration.lane_states[static_cast<std::size_t>(i)] = expected.at(i).lane_state;
  }
  DrawPlanner later(TorchOptions(lanes, 60));
  ASSERT_TRUE(later.Begin(iteration).ok());
  for (const auto& [number, planned] :
       Driver(data, later, random).RunAll(batches, static_cast<std::size_t>(lanes))) {
    EXPECT_EQ(planned.params, expected.at(number).params) << number;
    EXPECT_EQ(planned.lane_state, expected.at(number).lane_state) << number;
  }
}

TEST(DrawPlanner, WhatIsNoStateOfALaneIsRefused) {
  DrawPlanner planner(TorchOptions(2, 10));
  IterationOptions iteration;
  iteration.lane_states = {TorchGenerator(1).TorchState()};
  EXPECT_EQ(planner.Begin(iteration).code(), Code::kInvalidArgument);
  iteration.lane_states.push_back(Bytes(10));
  EXPECT_EQ(planner.Begin(iteration).code(), Code::kInvalidArgument);
}

TEST(DrawPlanner, LaneOfTheCallersChoice) {
  DrawPlanner planner({.lanes = 3, .native = false});
  ASSERT_TRUE(planner.Begin({}).ok());
  EXPECT_EQ(planner.Submit({1}, 2), 0);
  EXPECT_EQ(planner.Submit({1}), 1);
  EXPECT_EQ(planner.Submit({1}, 2), 2);
  for (const std::int32_t lane : {2, 1, 2}) EXPECT_EQ(planner.Next()->lane, lane);
}

}  // namespace
}  // namespace headrace::client
