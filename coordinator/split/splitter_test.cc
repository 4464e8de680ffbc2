#include "coordinator/split/splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

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
// purity, and the tail is the last node.
Result<NativeForm> Check(std::span<const Node> chain, std::span<const std::int32_t>,
                         const ClientLibraries&) {
  NativeForm form{.tail = static_cast<int>(chain.size()) - 1};
  bool leading = true;
  for (const Node& node : chain) {
    if (node.op == "exotic") return Unsupported("exotic(): interpolation=lanczos is not native");
    leading = leading && node.purity == Purity::kPure;
    if (leading) ++form.pure_prefix;
  }
  return form;
}

TEST(Splitter, AStatelessNativeChainGoesWhole) {
  const auto split = SplitPlan(
      Photographs({MakeNode("decode", Purity::kPure), MakeNode("resize", Purity::kPure),
                   MakeNode("flip", Purity::kRandom), MakeNode("normalize", Purity::kPure)}),
      Check);
  ASSERT_TRUE(split.ok()) << split.status().ToString();
  EXPECT_EQ(split->worker_nodes, 4);
  EXPECT_EQ(split->cache_node, 2) << "pure nodes after a random one are not in the prefix";
  EXPECT_EQ(split->tail_node, 3);
}

TEST(Splitter, RowsHaveTheFilesThatTheNodesTake) {
  Plan plan = Photographs({MakeNode("decode", Purity::kPure)});
  const auto split = [&](int files) {
    return SplitPlan(plan,
                     [files](auto, auto, const auto&) -> Result<NativeForm> {
                       return NativeForm{.pure_prefix = 1, .files = files};
                     })
        .status()
        .code();
  };
  EXPECT_EQ(split(1), Code::kOk);
  EXPECT_EQ(split(2), Code::kInvalidArgument);
  plan.leaves[0].source = "file_groups";
  plan.leaves[0].args["files"] = std::int64_t{2};
  EXPECT_EQ(split(2), Code::kOk);
  EXPECT_EQ(split(1), Code::kInvalidArgument);
}

TEST(Splitter, AChainThatIsNotAllNativeStaysWithItsTrainerAndTheNodeIsNamed) {
  const auto refusal = [](std::vector<Node> nodes) {
    const auto split = SplitPlan(Photographs(std::move(nodes)), Check);
    EXPECT_EQ(split.status().code(), Code::kUnsupported);
    return split.status().message();
  };
  EXPECT_EQ(refusal({MakeNode("decode", Purity::kPure),
                     MakeNode("count", Purity::kStateful, Form::kPython, "writes self.seen"),
                     MakeNode("mine", Purity::kPure, Form::kPython, "a lambda")}),
            "count() stays in the trainer: writes self.seen");
  EXPECT_EQ(refusal({MakeNode("mine", Purity::kPure, Form::kPython)}),
            "mine() stays in the trainer: it has no native form");
  EXPECT_THAT(refusal({MakeNode("decode", Purity::kPure), MakeNode("exotic", Purity::kPure)}),
              HasSubstr("lanczos"));
}

TEST(Splitter, TheTailIsWhatTheOperatorsSay) {
  Plan plan =
      Photographs({MakeNode("decode", Purity::kPure), MakeNode("to_tensor", Purity::kPure)});
  plan.libraries = {"13.0.0", "2.13.0+cpu", "0.28.0", "AVX512"};
  const auto tail = [&] {
    const auto split = SplitPlan(plan, BuiltinNativeCheck());
    EXPECT_TRUE(split.ok()) << split.status().ToString();
    return split.ok() ? split->tail_node : -1;
  };
  EXPECT_EQ(tail(), 1);
  plan.chain.push_back(MakeNode("random_erasing", Purity::kRandom));
  EXPECT_EQ(tail(), 0);
}

// Several values have no tail in common, and a receiver finishes one.
TEST(Splitter, AGraphOfTwoViewsHasNoTail) {
  Plan plan = Photographs({MakeNode("decode", Purity::kPure), MakeNode("to_tensor", Purity::kPure),
                           MakeNode("to_tensor", Purity::kPure)});
  plan.libraries = {"13.0.0", "2.13.0+cpu", "0.28.0", "AVX512"};
  plan.chain[2].inputs = {0};
  plan.fields = {{FieldSpec::Kind::kValue, 1}, {FieldSpec::Kind::kValue, 2}};
  const auto split = SplitPlan(plan, BuiltinNativeCheck());
  ASSERT_TRUE(split.ok()) << split.status().ToString();
  EXPECT_EQ(split->tail_node, 0);
  EXPECT_EQ(split->cache_node, 1);
}

TEST(Splitter, AListHasNoTail) {
  Plan plan =
      Photographs({MakeNode("decode", Purity::kPure), MakeNode("to_tensor", Purity::kPure)});
  plan.libraries = {"13.0.0", "2.13.0+cpu", "0.28.0", "AVX512"};
  const auto tail = [&](FieldSpec::Kind kind) {
    plan.fields = {{kind, 1}};
    const auto split = SplitPlan(plan, BuiltinNativeCheck());
    EXPECT_TRUE(split.ok()) << split.status().ToString();
    return split->tail_node;
  };
  EXPECT_EQ(tail(FieldSpec::Kind::kValue), 1);
  EXPECT_EQ(tail(FieldSpec::Kind::kList), 0);
}

TEST(Splitter, AGraphIsCheckedWithItsValuesAndStaysWhole) {
  using Kind = FieldSpec::Kind;
  Plan plan = Photographs({MakeNode("decode", Purity::kPure), MakeNode("flip", Purity::kRandom),
                           MakeNode("resize", Purity::kPure)});
  plan.chain[2].inputs = {0};
  plan.fields = {{Kind::kValue, 1}, {Kind::kValue, 2}, {Kind::kArray, 1}};
  auto split = SplitPlan(plan,
                         [](std::span<const Node> nodes, std::span<const std::int32_t> values,
                            const ClientLibraries&) -> Result<NativeForm> {
                           EXPECT_EQ(nodes.size(), 3U);
                           EXPECT_THAT(values, ElementsAre(1, 2));
                           return NativeForm{.pure_prefix = 1};
                         });
  ASSERT_TRUE(split.ok()) << split.status().ToString();
  EXPECT_EQ(split->worker_nodes, 3);
  EXPECT_EQ(split->cache_node, 1);
  plan.chain[2].op = "exotic";
  EXPECT_THAT(SplitPlan(plan, Check).status().message(), HasSubstr("lanczos"));
  plan.chain[2] = MakeNode("mine", Purity::kPure, Form::kPython, "a lambda");
  plan.chain[2].inputs = {0};
  EXPECT_THAT(SplitPlan(plan, Check).status().message(), HasSubstr("a lambda"));
  plan.chain[2].inputs = {2};
  EXPECT_THAT(SplitPlan(plan, Check).status().message(), HasSubstr("not before it"));
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
  EXPECT_EQ(split->tail_node, 0);
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
