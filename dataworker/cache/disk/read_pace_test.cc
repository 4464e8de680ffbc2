#include "dataworker/cache/disk/read_pace.h"

#include <chrono>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using namespace std::chrono_literals;
constexpr std::uint64_t kPicture = 400'000;

double NanosAByte(const ReadPace& pace) { return pace.Cost().nanos_a_byte; }

TEST(ReadPaceTest, BeginsWithAGuess) {
  EXPECT_DOUBLE_EQ(NanosAByte(ReadPace()), ReadPace::kGuess);
  EXPECT_EQ(ReadPace().Cost().Of(1'000'000), ReadPace::kFixed + 1ms);
  EXPECT_EQ(ReadPace().Cost().Of(0), ReadPace::kFixed);
}

TEST(ReadPaceTest, LearnsWithinSomeTensOfReadsAndForgets) {
  ReadPace pace;
  for (int i = 0; i < 100; ++i) pace.Note(kPicture, 4ms);
  EXPECT_NEAR(NanosAByte(pace), 3.9e6 / kPicture, 1.0);
  for (int i = 0; i < 1000; ++i) pace.Note(kPicture, 200us);
  EXPECT_NEAR(NanosAByte(pace), 0.1e6 / kPicture, 0.2);
}

TEST(ReadPaceTest, WhatIsSaidOfItIsBounded) {
  ReadPace pace;
  pace.Note(0, 1h);
  pace.Note(1, -1s);
  pace.Note(~std::uint64_t{0}, 1h);
  EXPECT_GE(NanosAByte(pace), 0);
  pace.Note(kPicture, 100h);
  EXPECT_LE(NanosAByte(pace), ReadPace::kMost);
  EXPECT_GE(pace.Cost().Of(~std::uint64_t{0} >> 20).count(), 0);
  for (int i = 0; i < 2000; ++i) pace.Note(kPicture, 200us);
  EXPECT_LT(NanosAByte(pace), 1) << "one bad word is forgotten";
}

}  // namespace
}  // namespace headrace::dataworker
