#include "base/pass/pass.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

namespace headrace {
namespace {

using ::testing::MatchesRegex;

TEST(Pass, IsTheSameForTheSameWorkerAndJob) {
  EXPECT_EQ(PassOf("token of a worker", JobId(7)), PassOf("token of a worker", JobId(7)));
  EXPECT_THAT(PassOf("token of a worker", JobId(7)), MatchesRegex("[0-9a-f]{32}"));
}

TEST(Pass, IsAnotherForEachWorkerAndJob) {
  std::set<std::string> passes;
  for (int worker = 0; worker < 30; ++worker) {
    const std::string token(static_cast<std::size_t>(1 + worker * 10), 'x');
    for (int job = 0; job < 30; ++job) passes.insert(PassOf(token, JobId(job)));
  }
  EXPECT_EQ(passes.size(), 900U);
}

TEST(WidePass, IsNoPassForThisHost) {
  EXPECT_EQ(WidePassOf("token", JobId(7), WorkerId(3)), WidePassOf("token", JobId(7), WorkerId(3)));
  std::set<std::string> passes = {PassOf("token", JobId(7))};
  for (const JobId job : {JobId(7), JobId(8)}) {
    for (const WorkerId asker : {WorkerId(3), WorkerId(4)}) {
      passes.insert(PeerPassOf("token", job, asker));
      passes.insert(WidePassOf("token", job, asker));
    }
  }
  EXPECT_EQ(passes.size(), 9U);
}

TEST(PeerPass, IsAnotherForEachWorkerJobAndAskerAndNeverATrainers) {
  std::set<std::string> passes;
  for (const char* token : {"one worker's", "another's"}) {
    for (int job = 0; job < 12; ++job) {
      passes.insert(PassOf(token, JobId(job)));
      for (int asker = 0; asker < 12; ++asker) {
        passes.insert(PeerPassOf(token, JobId(job), WorkerId(asker)));
      }
    }
  }
  EXPECT_EQ(passes.size(), 2U * 12 * 13);
}

TEST(PublicNumber, IsStableAndAnotherForEachSessionAndJob) {
  EXPECT_EQ(PublicNumberOf("token", SessionId(5)), PublicNumberOf("token", SessionId(5)));
  std::set<std::int64_t> numbers;
  for (int session = 0; session < 200; ++session) {
    for (const char* token : {"one job's", "another's"}) {
      const std::int64_t number = PublicNumberOf(token, SessionId(session));
      EXPECT_GE(number, 0);
      EXPECT_LT(number, std::int64_t{1} << 48);
      numbers.insert(number);
    }
  }
  EXPECT_EQ(numbers.size(), 400U);
}

// Python: b2 = hashlib.blake2b; b2(b"attach as job 17", digest_size=16,
//         key=b2(b"0123456789abcdef0123456789abcdef", digest_size=32).digest()).hexdigest()
TEST(Pass, IsKeyedBlake2b) {
  EXPECT_EQ(PassOf("0123456789abcdef0123456789abcdef", JobId(17)),
            "78bbb960fcbc0409b07d715b14f2edcd");
}

}  // namespace
}  // namespace headrace
