#include "dataworker/stage/cpu_account.h"

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

TEST(CpuAccount, CountsEachNanosecondOnce) {
  CpuAccount account;
  EXPECT_EQ(account.Note(1, 100), 100U);
  EXPECT_EQ(account.Note(2, 50), 50U);
  EXPECT_EQ(account.Note(1, 130), 30U);
  EXPECT_EQ(account.Note(1, 130), 0U);
}

TEST(CpuAccount, ProcessesOfALaterEpochCountFromTheirBeginning) {
  CpuAccount account;
  EXPECT_EQ(account.Note(1, 1000), 1000U);
  account.KeepOnly({2});
  EXPECT_EQ(account.Note(2, 10), 10U);
  EXPECT_EQ(account.Note(2, 30), 20U);
}

TEST(CpuAccount, AnEndedProcessTakesNothingBackAndItsNumberMayComeAgain) {
  CpuAccount account;
  EXPECT_EQ(account.Note(1, 1000), 1000U);
  EXPECT_EQ(account.Note(1, 0), 0U);
  EXPECT_EQ(account.Note(1, 1000), 0U) << "it could only not be read";
  EXPECT_EQ(account.Note(1, 40), 40U) << "another process";
  account.KeepOnly({});
  EXPECT_EQ(account.Note(1, 50), 50U) << "and another one";
}

}  // namespace
}  // namespace headrace::dataworker
