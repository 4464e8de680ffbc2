#include "dataworker/session/first_ask.h"

#include <gtest/gtest.h>

namespace headrace::dataworker {
namespace {

TEST(FirstAsk, BytesComeFirstWhereTheCacheHasNext) {
  FirstAsk first;
  for (int i = 0; i < FirstAsk::kLeast; ++i) {
    EXPECT_FALSE(first.BytesFirst());
    first.Note(false);
  }
  EXPECT_TRUE(first.BytesFirst());
}

TEST(FirstAsk, TwoOf32AreEnoughForIdentities) {
  FirstAsk first;
  for (int i = 0; i < 100; ++i) first.Note(false);
  first.Note(true);
  EXPECT_TRUE(first.BytesFirst());
  first.Note(true);
  EXPECT_FALSE(first.BytesFirst());
  for (int i = 0; i < 30; ++i) first.Note(false);
  EXPECT_FALSE(first.BytesFirst());
  first.Note(false);
  EXPECT_TRUE(first.BytesFirst());
}

}  // namespace
}  // namespace headrace::dataworker
