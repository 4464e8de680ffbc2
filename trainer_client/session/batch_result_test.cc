#include "trainer_client/session/batch_result.h"

#include <functional>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = FieldSpec::Kind;

// Three samples of a list, of which the second was not made, and their labels.
class BatchResultTest : public ::testing::Test {
 protected:
  BatchResultTest() {
    plan_.chain.resize(2);
    plan_.fields = {{Kind::kList, 1}, {Kind::kArray, 1}};
    done_.used_bytes = 216;
    done_.fields = {{DType::kU8, {3, -1, -1}, 0, {9, 8, 0, 0, 2, 3}}, {DType::kI64, {3}, 192}};
    done_.failures = {{.position = 1}};
  }
  [[nodiscard]] std::string Refused() const {
    return CheckAnswer(plan_, ranks_, 3, 3, 256, done_).message();
  }
  Plan plan_;
  std::vector<std::size_t> ranks_;
  wire::BatchDone done_;
};

TEST_F(BatchResultTest, EachRowOfAListIsATensorOfItsOwn) {
  ASSERT_EQ(Refused(), "");
  Bytes slot(256);
  const Batch batch = MakeBatch(std::move(done_), slot);
  ASSERT_EQ(batch.fields.size(), 2U);
  const BatchField& list = batch.fields[0];
  EXPECT_THAT(list.shape, ElementsAre(3));
  ASSERT_EQ(list.rows.size(), 3U);
  EXPECT_THAT(list.rows[0].shape, ElementsAre(9, 8));
  EXPECT_EQ(list.rows[0].data.data(), slot.data());
  EXPECT_EQ(list.rows[0].data.size(), 72U);
  EXPECT_THAT(list.rows[1].shape, ElementsAre(0, 0));
  EXPECT_TRUE(list.rows[1].data.empty());
  EXPECT_THAT(list.rows[2].shape, ElementsAre(2, 3));
  EXPECT_EQ(list.rows[2].data.data(), slot.data() + 128);
  EXPECT_EQ(list.rows[2].data.size(), 6U);
  EXPECT_THAT(batch.fields[1].shape, ElementsAre(3));
  EXPECT_TRUE(batch.fields[1].rows.empty());
}

TEST_F(BatchResultTest, AListThatDoesNotFitIsRefused) {
  done_.fields[0].row_sizes.back() = 100;
  EXPECT_THAT(Refused(), HasSubstr("outside of its slot"));
  done_.fields[0].row_sizes.pop_back();
  EXPECT_THAT(Refused(), HasSubstr("impossible shape"));
  done_.fields[0] = {DType::kU8, {3, 2}, 0};
  EXPECT_THAT(Refused(), HasSubstr("a stack in that of a list"));
  done_.fields[0] = {DType::kU8, {2, -1}, 0, {1, 1}};
  EXPECT_THAT(Refused(), HasSubstr("without one row for each sample"));
  plan_.fields[0].kind = Kind::kValue;
  done_.fields[0] = {DType::kU8, {3, -1}, 0, {1, 1, 1}};
  EXPECT_THAT(Refused(), HasSubstr("a list in the place of a stack"));
}

// They would be read by pickle in the trainer, or printed there.
TEST_F(BatchResultTest, NothingOfPythonComesWithTheAnswerToANativePlan) {
  const Bytes bytes(3);
  const std::vector<std::function<void(wire::BatchDone&)>> changes = {
      [&](wire::BatchDone& done) { done.pickle = bytes; },
      [&](wire::BatchDone& done) { done.python_error = bytes; },
      [&](wire::BatchDone& done) { done.lane_state = bytes; },
      [&](wire::BatchDone& done) { done.buffer_offsets = done.buffer_sizes = {0}; },
      [&](wire::BatchDone& done) { done.output = "text"; },
      [&](wire::BatchDone& done) { done.error_output = "text"; },
      [&](wire::BatchDone& done) { done.state_change = "text"; },
      [&](wire::BatchDone& done) { done.samples = 3; },
  };
  const wire::BatchDone good = done_;
  for (std::size_t i = 0; i < changes.size(); ++i) {
    done_ = good;
    changes[i](done_);
    EXPECT_THAT(Refused(), HasSubstr("native plan")) << i;
  }
  done_ = good;
  done_.failures = {{.position = 0}, {.position = 1}, {.position = 2}};
  done_.fields.clear();
  EXPECT_EQ(Refused(), "");
  done_.python_error = bytes;
  EXPECT_THAT(Refused(), HasSubstr("native plan")) << "where no sample was made, too";
}

TEST(RanksOf, StacksHaveADimensionMoreAndSqueezedMasksOneLess) {
  const auto node = [](std::string op, std::vector<std::int32_t> inputs = {}) {
    Node made;
    made.op = std::move(op);
    made.inputs = std::move(inputs);
    return made;
  };
  Plan plan;
  plan.chain = {node("decode"), node("pil_to_tensor"), node("stack", {1, 1}), node("squeeze", {1})};
  plan.chain[0].args = {{"mode", std::string("L")}};
  plan.fields = {{Kind::kList, 1}, {Kind::kArray, 1}, {Kind::kValue, 2}, {Kind::kList, 3}};
  const Result<ops::Graph> graph =
      ops::Graph::Compile(plan.chain, ValuesOf(plan), plan.libraries, {});
  ASSERT_TRUE(graph.ok()) << graph.status().ToString();
  EXPECT_THAT(RanksOf(plan, *graph), ElementsAre(3, 0, 4, 2));
}

// A trainer that took it would fail in next(), where it turns rows of [H, W, C].
TEST_F(BatchResultTest, AListOfAnotherNumberOfDimensionsIsRefused) {
  ranks_ = {2, 0};
  EXPECT_EQ(Refused(), "");
  done_.fields[0] = {DType::kU8, {3, -1, -1, -1}, 0, {1, 9, 8, 0, 0, 0, 1, 2, 3}};
  EXPECT_THAT(Refused(), HasSubstr("samples of 3 dimensions in the place of 2"));
  done_.fields[0] = {DType::kU8, {3, -1}, 0, {9, 0, 3}};
  EXPECT_THAT(Refused(), HasSubstr("samples of 1 dimensions in the place of 2"));
  ranks_ = {};
  EXPECT_EQ(Refused(), "") << "nothing is known of them";
}

}  // namespace
}  // namespace headrace::client
