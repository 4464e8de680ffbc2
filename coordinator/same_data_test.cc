// Which plans read one data set.
#include <gtest/gtest.h>

#include "coordinator/step_test_util.h"

namespace headrace::coordinator {
namespace {

class SameDataTest : public testing::Test {
 protected:
  Cluster cluster_;
};

TEST_F(SameDataTest, TheSameFilesByAnotherPathAreOneDataSet) {
  cluster_.rules.native_check = BuiltinNativeCheck();
  const JobId job = cluster_.OpenJob("token-aaaa").job;
  std::uint64_t sessions = 0;
  const auto dataset = [&](std::int64_t table, std::vector<std::uint64_t> files) {
    Plan plan = SmallPlan();
    plan.leaves[0].table = BlobHash(table);
    const SessionId session(++sessions);
    wire::OpenSession open{5, job, session, std::move(plan)};
    open.files = std::move(files);
    EXPECT_TRUE(cluster_.Ask<wire::SessionOpened>(open).status.ok());
    return cluster_.state.FindJob(job)->sessions.at(session).dataset;
  };
  EXPECT_EQ(dataset(1, {77}), dataset(2, {77}));
  EXPECT_NE(dataset(1, {77}), dataset(1, {78}));
  // Nothing is known of them: the table names them.
  for (const std::vector<std::uint64_t>& unknown : {std::vector<std::uint64_t>{}, {0}}) {
    EXPECT_EQ(dataset(1, unknown), dataset(1, {}));
    EXPECT_NE(dataset(1, unknown), dataset(2, unknown));
  }
  EXPECT_NE(dataset(1, {77}), dataset(1, {}));
}

// An image and its mask, each with a cache point of its own.
TEST_F(SameDataTest, PlansThatCacheOtherMasksAreOtherDataSets) {
  cluster_.rules.native_check = BuiltinNativeCheck();
  const JobId job = cluster_.OpenJob("token-aaaa").job;
  std::uint64_t sessions = 0;
  const auto dataset = [&](std::vector<std::int64_t> image, std::vector<std::int64_t> mask) {
    const auto crop = [](std::vector<std::int64_t> size) {
      Node node;
      node.op = "center_crop";
      node.args["size"] = std::move(size);
      return node;
    };
    Plan plan = SmallPlan();
    plan.leaves[0].source = "file_groups";
    plan.leaves[0].args["files"] = std::int64_t{2};
    plan.chain.push_back(crop(std::move(image)));
    plan.chain.push_back(plan.chain[0]);
    plan.chain.back().args = {{"mode", std::string("index")}, {"file", std::int64_t{1}}};
    plan.chain.back().inputs = {Node::kSource};
    plan.chain.push_back(crop(std::move(mask)));
    plan.fields = {{FieldSpec::Kind::kValue, 1}, {FieldSpec::Kind::kValue, 3}};
    const SessionId session(++sessions);
    const auto opened =
        cluster_.Ask<wire::SessionOpened>(wire::OpenSession{5, job, session, std::move(plan)});
    EXPECT_TRUE(opened.status.ok()) << opened.status.ToString();
    return cluster_.state.FindJob(job)->sessions.at(session).dataset;
  };
  EXPECT_EQ(dataset({9, 9}, {9, 9}), dataset({9, 9}, {9, 9}));
  EXPECT_NE(dataset({9, 9}, {9, 9}), dataset({8, 8}, {9, 9}));
  EXPECT_NE(dataset({9, 9}, {9, 9}), dataset({9, 9}, {8, 8}));
  EXPECT_NE(dataset({9, 9}, {8, 8}), dataset({8, 8}, {9, 9}));
}

}  // namespace
}  // namespace headrace::coordinator
