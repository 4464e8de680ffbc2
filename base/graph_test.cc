#include "base/graph.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using Kind = FieldSpec::Kind;

// Nodes with these inputs.
Plan Of(const std::vector<std::vector<std::int32_t>>& inputs, std::vector<FieldSpec> fields) {
  Plan plan;
  for (const std::vector<std::int32_t>& of_node : inputs) {
    plan.chain.push_back({.op = "op", .inputs = of_node});
  }
  plan.fields = std::move(fields);
  return plan;
}

std::string Refused(const Plan& plan) { return CheckGraph(plan).message(); }

TEST(Graph, AFieldNamesANodeOrTheLastOne) {
  const Plan chain = Of({{}, {}}, {{Kind::kArray, 1}, {Kind::kChain, 0}});
  EXPECT_THAT(ValuesOf(chain), ElementsAre(1));
  EXPECT_FALSE(HasGraph(chain));
  const Plan views = Of({{}, {}, {0}}, {{Kind::kValue, 2}, {Kind::kValue, 1}, {Kind::kValue, 2}});
  EXPECT_THAT(ValuesOf(views), ElementsAre(2, 1));
  EXPECT_TRUE(HasGraph(views));
  EXPECT_TRUE(CheckGraph(views).ok());
  EXPECT_TRUE(HasGraph(Of({{}, {}}, {{Kind::kValue, 1}})));
  const Plan lists = Of({{}, {}, {0}}, {{Kind::kList, 2}, {Kind::kValue, 1}});
  EXPECT_THAT(ValuesOf(lists), ElementsAre(2, 1));
  EXPECT_TRUE(HasGraph(Of({{}, {}}, {{Kind::kList, 1}})));
  EXPECT_TRUE(HasLists(lists));
  EXPECT_FALSE(HasLists(views));
  EXPECT_TRUE(CheckGraph(lists).ok());
  // A plan of arrays has no node.
  EXPECT_THAT(ValuesOf(Of({}, {{Kind::kArray, 0}, {Kind::kChain, 0}})), IsEmpty());
}

TEST(Graph, NumbersOutOfPlaceAreRefused) {
  const std::vector<FieldSpec> last{{Kind::kValue, 1}};
  EXPECT_THAT(Refused(Of({{0}, {}}, last)), HasSubstr("node 0 takes the value of node 0"));
  EXPECT_THAT(Refused(Of({{}, {1}}, last)), HasSubstr("node 1 takes the value of node 1"));
  EXPECT_THAT(Refused(Of({{}, {-2}}, last)), HasSubstr("which is not before it"));
  EXPECT_THAT(Refused(Of({{-1}, {}}, last)), HasSubstr("node 0 takes the value of node -1"));
  EXPECT_THAT(Refused(Of({{}, {}, {0, -1}}, last)), HasSubstr("which is not before it"));
  EXPECT_THAT(Refused(Of({{}, {-1}}, last)), IsEmpty()) << "another picture";
  EXPECT_THAT(Refused(Of({{}, {0}}, last)), HasSubstr("names the node before it"));
  EXPECT_THAT(Refused(Of({{}, {}}, {{Kind::kValue, 2}})), HasSubstr("there are 2"));
  EXPECT_THAT(Refused(Of({{}, {}}, {{Kind::kList, 2}})), HasSubstr("there are 2"));
  EXPECT_THAT(Refused(Of({{}, {}}, {{Kind::kValue, -1}})), HasSubstr("node -1"));
}

TEST(Graph, ARowHasOneFileUnlessItsSourceSaysMore) {
  SourceLeaf leaf;
  EXPECT_EQ(*FilesOf(leaf), 1);
  leaf.source = "file_groups";
  EXPECT_EQ(FilesOf(leaf).status().code(), Code::kInvalidArgument);
  leaf.args["files"] = std::int64_t{3};
  EXPECT_EQ(*FilesOf(leaf), 3);
}

// A peer that knows no inputs reads such a plan as a chain, unless a field tells it.
TEST(Graph, AFieldBesideInputsNamesItsNode) {
  EXPECT_THAT(Refused(Of({{}, {}, {0}}, {{Kind::kChain, 0}})), HasSubstr("does not name its node"));
}

}  // namespace
}  // namespace headrace
