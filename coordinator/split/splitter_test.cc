#include "coordinator/split/splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Node MakeNode(std::string op, Purity purity, Form form = Form::kNative, std::string reason = {}) {
  Node node;
  node.op = op;
  node.label = op + "()";
  node.purity = purity;
  node.form = form;
  node.reason = std::move(reason);
  return node;
}

Plan Photographs(std::vector<Node> chain) {
  Plan plan;
  plan.name = "ImageFolder(/data)";
  SourceLeaf leaf;
  leaf.rows = 10;
  leaf.table = BlobHash(1);
  plan.leaves = {leaf};
  plan.chain = std::move(chain);
  plan.fields = {{FieldSpec::Kind::kChain, 0}, {FieldSpec::Kind::kArray, 1}};
  return plan;
}

// Accepts everything as native, except nodes called "exotic". The pure prefix follows the nodes'
// purity.
Result<int> Check(std::span<const Node> prefix, std::span<const std::int32_t>,
                  const ClientLibraries&) {
  int pure = 0;
  bool leading = true;
  for (const Node& node : prefix) {
    if (node.op == "exotic") return Unsupported("exotic(): interpolation=lanczos is not native");
    leading = leading && node.purity == Purity::kPure;
    if (leading) ++pure;
  }
  return pure;
}

TEST(Splitter, AStatelessNativeChainGoesWhole) {
  const auto split = SplitPlan(
      Photographs({MakeNode("decode", Purity::kPure), MakeNode("resize", Purity::kPure),
                   MakeNode("flip", Purity::kRandom), MakeNode("normalize", Purity::kPure)}),
      Check);
  ASSERT_TRUE(split.ok()) << split.status().ToString();
  EXPECT_EQ(split->worker_nodes, 4);
  EXPECT_EQ(split->cache_node, 2) << "pure nodes behind a random one are not in the prefix";
  EXPECT_THAT(split->reasons, IsEmpty());
}

TEST(Splitter, CutsAtTheFirstStatefulNodeAndSaysWhyForEachThatStays) {
  const auto split = SplitPlan(
      Photographs({MakeNode("decode", Purity::kPure),
                   MakeNode("count", Purity::kStateful, Form::kPython, "writes self.seen"),
                   MakeNode("flip", Purity::kRandom),
                   MakeNode("mine", Purity::kPure, Form::kPython, "a lambda")}),
      Check);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->worker_nodes, 1);
  EXPECT_EQ(split->cache_node, 1);
  EXPECT_THAT(split->reasons, ElementsAre("count() stays in the trainer: writes self.seen",
                                          "flip() stays in the trainer: it comes after count()",
                                          "mine() stays in the trainer: a lambda"));
}

TEST(Splitter, ArgumentsWithoutNativeFormCutTooWithTheCompilersReason) {
  const auto split =
      SplitPlan(Photographs({MakeNode("decode", Purity::kPure), MakeNode("exotic", Purity::kPure),
                             MakeNode("normalize", Purity::kPure)}),
                Check);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->worker_nodes, 1);
  ASSERT_EQ(split->reasons.size(), 2U);
  EXPECT_THAT(split->reasons[0], HasSubstr("lanczos"));
}

// Part of a graph makes no sample.
TEST(Splitter, AGraphGoesWholeOrNotAtAll) {
  using Kind = FieldSpec::Kind;
  Plan plan = Photographs({MakeNode("decode", Purity::kPure), MakeNode("flip", Purity::kRandom),
                           MakeNode("resize", Purity::kPure)});
  plan.chain[2].inputs = {0};
  plan.fields = {{Kind::kValue, 1}, {Kind::kValue, 2}, {Kind::kArray, 1}};
  auto split = SplitPlan(plan,
                         [](std::span<const Node> nodes, std::span<const std::int32_t> values,
                            const ClientLibraries&) -> Result<int> {
                           EXPECT_EQ(nodes.size(), 3U);
                           EXPECT_THAT(values, ElementsAre(1, 2));
                           return 1;
                         });
  ASSERT_TRUE(split.ok()) << split.status().ToString();
  EXPECT_EQ(split->worker_nodes, 3);
  EXPECT_EQ(split->cache_node, 1);
  plan.chain[2].op = "exotic";
  split = SplitPlan(plan, Check);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->worker_nodes, 0);
  ASSERT_EQ(split->reasons.size(), 3U);
  EXPECT_THAT(split->reasons[0], HasSubstr("lanczos"));
  plan.chain[2] = MakeNode("mine", Purity::kPure, Form::kPython, "a lambda");
  plan.chain[2].inputs = {0};
  split = SplitPlan(plan, Check);
  EXPECT_EQ(split->worker_nodes, 0);
  EXPECT_THAT(split->reasons[2], HasSubstr("a lambda"));
  plan.chain[2].inputs = {2};
  EXPECT_THAT(SplitPlan(plan, Check).status().message(), HasSubstr("not before it"));
}

TEST(Splitter, NothingNativeLeavesNothingToWorkers) {
  const auto split = SplitPlan(Photographs({MakeNode("exotic", Purity::kPure)}), Check);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->worker_nodes, 0);
  EXPECT_EQ(split->cache_node, 0);
}

TEST(Splitter, PythonStageGoesWhole) {
  Plan plan;
  plan.has_python_stage = true;
  plan.python.bundle = BlobHash(7);
  plan.chain = {MakeNode("mine", Purity::kRandom, Form::kPython)};
  const auto split = SplitPlan(plan, Check);
  ASSERT_TRUE(split.ok());
  EXPECT_EQ(split->worker_nodes, 1);
  EXPECT_EQ(split->cache_node, 0);
  EXPECT_THAT(split->reasons, IsEmpty());
}

TEST(Splitter, ArraysNeedNoChain) {
  Plan plan;
  SourceLeaf leaf;
  leaf.source = "arrays";
  leaf.arrays = {{BlobHash(1), DType::kF32, {4}}, {BlobHash(2), DType::kI64, {}}};
  plan.leaves = {leaf};
  plan.fields = {{FieldSpec::Kind::kArray, 0}, {FieldSpec::Kind::kArray, 1}};
  const auto split = SplitPlan(plan, Check);
  ASSERT_TRUE(split.ok()) << split.status().ToString();
  EXPECT_EQ(split->worker_nodes, 0);
}

TEST(Splitter, RefusesWhatIsNotAPlan) {
  const auto message = [](const Plan& plan) {
    const auto split = SplitPlan(plan, Check);
    EXPECT_EQ(split.status().code(), Code::kInvalidArgument);
    return split.status().message();
  };
  Plan plan = Photographs({MakeNode("decode", Purity::kPure)});
  plan.lanes = 0;
  EXPECT_THAT(message(plan), HasSubstr("lane"));
  plan = Photographs({});
  plan.leaves.clear();
  EXPECT_THAT(message(plan), HasSubstr("no source"));
  plan = Photographs({});
  plan.fields.clear();
  EXPECT_THAT(message(plan), HasSubstr("no field"));
  plan = Photographs({});
  plan.fields[1].index = 2;
  EXPECT_THAT(message(plan), HasSubstr("field 2"));
  plan = Photographs({});
  plan.leaves[0].rows = -1;
  EXPECT_THAT(message(plan), HasSubstr("rows"));
  plan = Photographs(std::vector<Node>(257));
  EXPECT_THAT(message(plan), HasSubstr("257 nodes"));
}

TEST(Splitter, CodeMayStayWithItsTrainer) {
  Plan plan = Photographs({});
  plan.has_python_stage = true;  // without a bundle, so the trainer's own processes run it
  EXPECT_TRUE(SplitPlan(plan, Check).ok());
}

}  // namespace
}  // namespace headrace::coordinator
