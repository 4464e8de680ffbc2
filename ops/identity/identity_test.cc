#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

namespace headrace::ops::testing {
namespace {

using ::testing::ElementsAre;

TEST(Identity, ChangesNothing) {
  EXPECT_THAT(RunPixels({MakeNode("identity")}, GraySpec(1, 3), {1, 2, 3}).values,
              ElementsAre(1, 2, 3));
}

}  // namespace
}  // namespace headrace::ops::testing
