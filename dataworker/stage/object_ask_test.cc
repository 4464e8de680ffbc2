// What a question of a process may say.
#include "dataworker/stage/object_ask.h"

#include "dataworker/share/pictures_ahead.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

TEST(ObjectAskDecode, TakesThreeNumbersAndNothingElse) {
  ObjectAsk ask;
  ask.version = "17,2,1";
  const auto read = ask.DecodingOf(PicturesAhead::kMostAs);
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->at, 17);
  EXPECT_EQ(read->as, 2U);
  EXPECT_TRUE(read->wants_memory);
  for (const char* wrong : {"", "17", "17,2", "17,2,1,0", "-1,2,1", "17,0,1", "17,5,1", "17,2,2",
                            "17,2,x", "9223372036854775807,1,1", "99999999999999999999,1,1"}) {
    ask.version = wrong;
    EXPECT_EQ(ask.DecodingOf(PicturesAhead::kMostAs).status().code(), Code::kInvalidArgument)
        << wrong;
  }
}

}  // namespace
}  // namespace headrace::dataworker
