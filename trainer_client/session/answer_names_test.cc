#include "trainer_client/session/answer_names.h"

#include <utility>

#include "gtest/gtest.h"
#include "trainer_client/session/test_pickles.h"

namespace headrace::client {
namespace {

wire::BatchDone Done(Bytes pickle) {
  wire::BatchDone done;
  done.pickle = std::move(pickle);
  return done;
}

wire::BatchDone Error(Bytes pickle) {
  wire::BatchDone done;
  done.python_error = std::move(pickle);
  return done;
}

class AnswerNamesTest : public testing::Test {
 protected:
  Code CodeOf(wire::BatchDone done) {
    const auto names = names_.Check(done, {}, false);
    return names.ok() ? Code::kOk : names.status().code();
  }
  AnswerNames names_{{"v a A", "c a A"}, {"os"}};
};

TEST_F(AnswerNamesTest, WhatIsAllowedFromTheBeginningIsAllowedInThatWay) {
  EXPECT_EQ(CodeOf(Done(PickleOfCall("a", "A", 1))), Code::kOk);
  EXPECT_EQ(CodeOf(Done(PickleBytes(NameOps("a", "A") + ")\x81"))), Code::kNotFound);
  EXPECT_EQ(CodeOf(Done(PickleOfCall("a", "A.B", 1))), Code::kNotFound);
}

TEST_F(AnswerNamesTest, WhatThisHostUsesIsAllowedInThatWay) {
  const Bytes call = PickleOfCall("mine", "Batch", 1);
  EXPECT_EQ(CodeOf(Done(call)), Code::kNotFound);
  names_.Learn(Done(PickleBytes(NameOps("mine", "Batch"))), {});
  EXPECT_EQ(CodeOf(Done(call)), Code::kNotFound) << "it was held, not called";
  names_.Learn(Done(call), {});
  EXPECT_EQ(CodeOf(Done(call)), Code::kOk);
}

TEST_F(AnswerNamesTest, ClosedModulesAreNotLearned) {
  for (const char* module : {"os", "os.path"}) {
    const Bytes call = PickleOfCall(module, "system", 1);
    names_.Learn(Done(call), {});
    EXPECT_EQ(CodeOf(Done(call)), Code::kUnsupported);
  }
  const Bytes call = PickleOfCall("osmium", "Batch", 1);
  names_.Learn(Done(call), {});
  EXPECT_EQ(CodeOf(Done(call)), Code::kOk);
}

TEST_F(AnswerNamesTest, TheTypeOfAnErrorIsLearnedAndNotCalled) {
  const Bytes type = PickleBytes(NameOps("os", "error"));
  names_.Learn(Error(type), {});
  EXPECT_EQ(CodeOf(Error(type)), Code::kOk);
  EXPECT_NE(CodeOf(Error(PickleOfCall("os", "error", 1))), Code::kOk);
}

TEST_F(AnswerNamesTest, NoPickleIsDamage) {
  EXPECT_EQ(CodeOf(Done({})), Code::kDataLoss);
  EXPECT_EQ(CodeOf(Done({std::byte{1}})), Code::kDataLoss);
  EXPECT_EQ(CodeOf(Error({std::byte{1}})), Code::kDataLoss);
}

TEST_F(AnswerNamesTest, ALargePickleIsReadInItsMemoryAndTakenOutWhereThatIsShared) {
  Bytes memory(64, std::byte{0});
  const Bytes pickle = PickleBytes("\x97");
  memory.insert(memory.end(), pickle.begin(), pickle.end());
  wire::BatchDone done;
  done.buffer_offsets = {0, 64};
  done.buffer_sizes = {8, pickle.size()};
  ASSERT_TRUE(names_.Check(done, memory, false).ok());
  EXPECT_TRUE(done.pickle.empty());
  ASSERT_TRUE(names_.Check(done, memory, true).ok());
  EXPECT_EQ(done.pickle, pickle);
  EXPECT_EQ(done.buffer_sizes, std::vector<std::uint64_t>{8});
}

TEST_F(AnswerNamesTest, TheNamesOfAnAnswerAreTold) {
  wire::BatchDone done = Done(PickleOfCall("a", "A", 1));
  const auto names = names_.Check(done, {}, false);
  ASSERT_TRUE(names.ok());
  EXPECT_EQ(*names, (NamesUsed{{"a", "A"}}));
}

}  // namespace
}  // namespace headrace::client
