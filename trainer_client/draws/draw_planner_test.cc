#include "trainer_client/draws/draw_planner.h"

#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/core/graph.h"
#include "ops/core/test_util.h"
#include "trainer_client/draws/draw_planner_fixture.h"

namespace headrace::client {
namespace {

using ::testing::ElementsAre;

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
  Generators generator(3);
  std::vector<std::int32_t> words(kWords);
  std::vector<TensorSpec> out;
  ASSERT_TRUE(FakeDraw(Image(10, 30), generator, words, &out).ok());
  EXPECT_EQ(planner.LaneDraws()->front(), generator.torch.draws());
  ASSERT_TRUE(FakeDraw(Image(10, 30), generator, words, &out).ok());
  const auto batch2 = planner.Next();
  ASSERT_TRUE(batch2.has_value());
  EXPECT_EQ(batch2->batch, 2);
  EXPECT_EQ(std::vector(batch2->params.begin(), batch2->params.begin() + kWords), words);
  EXPECT_EQ(planner.Next()->batch, 4);
  EXPECT_FALSE(planner.Next().has_value());
}

// As a program does that applies one transform after the other to each sample.
TEST(DrawPlanner, TheViewsOfASampleDrawBeforeTheNextSample) {
  using ops::testing::MakeNode;
  std::vector<Node> nodes{MakeNode("decode"), MakeNode("random_crop", {{"size", std::int64_t{8}}}),
                          MakeNode("random_crop", {{"size", std::int64_t{9}}})};
  nodes[2].inputs = {0};
  const ops::Graph graph = *ops::Graph::Compile(nodes, {1, 2}, ops::testing::Libraries(), {});
  DrawPlanner::Options options = TorchOptions(1, 2);
  options.param_words = graph.param_words();
  options.draw = [&](const TensorSpec& in, Generators& rng, ops::MutableParams params,
                     std::vector<TensorSpec>* values) {
    values->resize(graph.values().size());
    return graph.Draw(in, rng, params, *values);
  };
  options.dims->Set(0, Image(20, 30));
  options.dims->Set(1, Image(40, 10));
  DrawPlanner planner(std::move(options));
  IterationOptions iteration;
  iteration.base_seed = 3;
  ASSERT_TRUE(planner.Begin(iteration).ok());
  planner.Submit({0, 1});
  const auto planned = planner.Next();
  ASSERT_TRUE(planned.has_value());
  Generators stock(3);
  std::vector<std::int32_t> expected;
  for (const auto& [height, width] : {std::pair{20, 30}, std::pair{40, 10}}) {
    for (const int side : {8, 9}) {
      expected.push_back(static_cast<std::int32_t>(stock.torch.RandInt(0, height - side + 1)));
      expected.push_back(static_cast<std::int32_t>(stock.torch.RandInt(0, width - side + 1)));
    }
  }
  EXPECT_EQ(planned->params, expected);
  EXPECT_THAT(planned->values, ElementsAre(Image(8, 8), Image(9, 9)));
  EXPECT_EQ(planner.LaneDraws()->front(), 0U) << "nothing is delivered yet";
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
  Generators generator(3);
  std::vector<std::int32_t> words(kWords);
  std::vector<TensorSpec> out;
  for (const TensorSpec& spec : {Image(10, 30), Image(11, 31), Image(12, 32)}) {
    ASSERT_TRUE(FakeDraw(spec, generator, words, &out).ok());
  }
  EXPECT_EQ(after.torch_state_after, generator.State());
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
  ASSERT_TRUE(planner.Resolve(0, 0, Generators(99).State(), false).ok());
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

TEST(DrawPlanner, WhatIsNoStateOfALaneIsRefused) {
  DrawPlanner planner(TorchOptions(2, 10));
  IterationOptions iteration;
  iteration.lane_states = {Generators(1).State()};
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

// Whatever the plan draws, the trainer makes them, and no worker is asked for their sizes.
TEST(DrawPlanner, RowsThatAreHeldBackAreTheTrainers) {
  const auto held_back = std::make_shared<std::set<std::int64_t>>();
  DrawPlanner torch(TorchOptions(1, 10));
  torch.HoldBack(held_back);
  ASSERT_TRUE(torch.Begin({}).ok());
  held_back->insert(4);
  torch.Submit({4, 5});
  EXPECT_EQ(torch.TakeUnknown(), (std::vector<std::int64_t>{5}));
  const auto needed = torch.TakeNeeded();
  ASSERT_TRUE(needed);
  EXPECT_EQ(needed->key, 4);

  DrawPlanner plain({.keys = 10});
  plain.HoldBack(held_back);
  ASSERT_TRUE(plain.Begin({}).ok());
  plain.Submit({3, 4});
  EXPECT_EQ(plain.Next()->skip, (std::vector<std::int32_t>{1}));
  ASSERT_EQ(plain.UnmadePositions(0).size(), 1U);
  EXPECT_EQ(plain.UnmadePositions(0)[0].code, Code::kUnavailable);
}

}  // namespace
}  // namespace headrace::client
