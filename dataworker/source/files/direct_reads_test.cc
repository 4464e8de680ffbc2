#include "dataworker/source/files/direct_reads.h"

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

TEST(DirectReads, AFewAttemptsInVainMoveReadsToTheIoThreads) {
  DirectReads reads;
  EXPECT_TRUE(reads.direct());
  for (int i = 0; i + 1 < DirectReads::kMostInVain; ++i) reads.CountDirect(false);
  reads.CountDirect(true);  // not in a row
  for (int i = 0; i + 1 < DirectReads::kMostInVain; ++i) reads.CountDirect(false);
  EXPECT_TRUE(reads.direct());
  reads.CountDirect(false);
  EXPECT_FALSE(reads.direct());
}

TEST(DirectReads, ReadsThatFindAllInMemoryMoveBack) {
  DirectReads reads;
  for (int i = 0; i < DirectReads::kMostInVain; ++i) reads.CountDirect(false);
  for (int i = 0; i + 1 < DirectReads::kInMemory; ++i) reads.CountElsewhere(true);
  reads.CountElsewhere(false);
  for (int i = 0; i + 1 < DirectReads::kInMemory; ++i) reads.CountElsewhere(true);
  EXPECT_FALSE(reads.direct());
  reads.CountElsewhere(true);
  EXPECT_TRUE(reads.direct());
}

TEST(DirectReads, WhereTheKernelDoesNotTellOneWaitIsEnough) {
  DirectReads reads;
  reads.Measure();
  EXPECT_FALSE(reads.direct());
  for (int i = 0; i < DirectReads::kInMemory; ++i) reads.CountElsewhere(true);
  EXPECT_TRUE(reads.direct());
  reads.Measure();  // known already
  EXPECT_TRUE(reads.direct());
  reads.CountDirect(true);
  EXPECT_TRUE(reads.direct());
  reads.CountDirect(false);
  EXPECT_FALSE(reads.direct());
}

}  // namespace
}  // namespace headrace::dataworker
