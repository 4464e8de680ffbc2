#include "ops/core/generators.h"

#include "gtest/gtest.h"

namespace headrace::ops {
namespace {

TEST(Generators, AStateIsThatOfEachThereIs) {
  EXPECT_EQ(Generators(5).State(), TorchGenerator(5).TorchState());
  Generators both(5, true);
  both.torch.Discard(3);
  both.python->Discard(4);
  Generators other(6, true);
  ASSERT_TRUE(other.SetState(both.State()).ok());
  EXPECT_EQ(other.torch.Next(), both.torch.Next());
  EXPECT_EQ(other.python->Random(), both.python->Random());
}

TEST(Generators, NumpysComesAfterPythons) {
  Generators all(5, true, true);
  all.python->Discard(4);
  all.numpy->Discard(5);
  Generators other(6, true, true);
  ASSERT_TRUE(other.SetState(all.State()).ok());
  EXPECT_EQ(other.numpy->Random(), all.numpy->Random());
  EXPECT_EQ(other.python->Random(), all.python->Random());
  const Bytes before = other.State();
  EXPECT_EQ(other.SetState(Generators(7, true).State()).code(), Code::kInvalidArgument);
  EXPECT_EQ(Generators(7, true).SetState(before).code(), Code::kInvalidArgument);
  EXPECT_EQ(other.State(), before);
}

TEST(Generators, AStateOfOneMoreOrLessIsRefusedAndChangesNothing) {
  Generators one(5), both(5, true);
  const Bytes of_one = one.State(), of_both = both.State();
  EXPECT_EQ(one.SetState(Generators(6, true).State()).code(), Code::kInvalidArgument);
  EXPECT_EQ(both.SetState(Generators(6).State()).code(), Code::kInvalidArgument);
  Bytes odd = Generators(6, true).State();
  odd[8] = std::byte{77};  // torch's place
  EXPECT_EQ(both.SetState(odd).code(), Code::kInvalidArgument);
  EXPECT_EQ(both.SetState({}).code(), Code::kInvalidArgument);
  EXPECT_EQ(one.State(), of_one);
  EXPECT_EQ(both.State(), of_both);
}

}  // namespace
}  // namespace headrace::ops
