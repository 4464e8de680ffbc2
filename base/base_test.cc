#include <unistd.h>

#include <cerrno>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/hash.h"
#include "base/ids.h"
#include "base/result.h"
#include "gtest/gtest.h"

namespace headrace {
namespace {

Result<int> Half(int x) {
  if (x % 2 != 0) return InvalidArgument("odd: " + std::to_string(x));
  return x / 2;
}

Result<int> Quarter(int x) {
  HR_TRY(int half, Half(x));
  return Half(half);
}

TEST(Result, ErrorKeepsCodeAndMessageThroughTry) {
  EXPECT_EQ(*Quarter(8), 2);
  EXPECT_EQ(Quarter(6).status(), InvalidArgument("odd: 3"));
}

TEST(Result, ContextGoesInFront) {
  EXPECT_EQ(NotFound("x").WithContext("reading y").ToString(), "NotFound: reading y: x");
  EXPECT_TRUE(Status::Ok().WithContext("y").ok());
}

TEST(Result, ADetailGoesWithTheStatus) {
  const Status status = NoSession("session 3 is not attached");
  EXPECT_EQ(status.WithContext("batch 7").detail(), Detail::kNoSession);
  EXPECT_NE(status, NotFound("session 3 is not attached"));
  EXPECT_EQ(NotFound("x").WithDetail(Detail::kNoFile),
            Status(Code::kNotFound, "x", Detail::kNoFile));
}

TEST(Result, WhoKnowsNoDetailsMeansThatThereIsNoSession) {
  EXPECT_TRUE(IsNoSession(NoSession("x")));
  EXPECT_TRUE(IsNoSession(NotFound("x")));
  EXPECT_FALSE(IsNoSession(NotFound("x").WithDetail(Detail::kNoFile)));
  EXPECT_FALSE(IsNoSession(Unavailable("x").WithDetail(Detail::kNoSession)));
}

TEST(Result, FullDiskIsExhaustedNotUnavailable) {
  EXPECT_EQ(ErrnoStatus(ENOSPC, "memfd").code(), Code::kResourceExhausted);
  EXPECT_EQ(ErrnoStatus(ENOENT, "open a").message(), "open a: No such file or directory");
}

TEST(Clock, CpuTimeIsThatOfTheCallingThread) {
  const Clock& clock = Clock::Real();
  constexpr std::chrono::milliseconds kWork{20};
  const Duration before = clock.ThreadCpu();
  std::jthread([&] {
    while (clock.ThreadCpu() < kWork) {
    }
  }).join();
  EXPECT_LT(clock.ThreadCpu() - before, kWork);
}

TEST(FakeClock, MovesOnlyWhenTold) {
  FakeClock clock;
  const SteadyTime start = clock.Now();
  clock.Advance(std::chrono::seconds(3));
  EXPECT_EQ(clock.Now() - start, std::chrono::seconds(3));
}

TEST(StrongId, DefaultIsInvalidAndOrderIsByValue) {
  EXPECT_FALSE(JobId().valid());
  EXPECT_LT(JobId(1), JobId(2));
}

TEST(Hash, BlobHashIsNeverNegative) {
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(HashBlob(AsBytes(std::to_string(i))).valid());
}

}  // namespace
}  // namespace headrace
