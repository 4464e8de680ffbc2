#include "trainer_client/session/copy_team.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <random>

namespace headrace::client {
namespace {

Bytes SomeBytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

// Copies and looks at the bytes, and at those around them.
testing::AssertionResult Copies(CopyTeam& team, std::size_t bytes, std::size_t to_offset,
                                std::size_t from_offset) {
  constexpr std::size_t kAround = 128;
  const Bytes source = SomeBytes(bytes + from_offset, bytes + 1);
  Bytes target(bytes + to_offset + kAround, std::byte{7});
  const ByteSpan from = ByteSpan(source).subspan(from_offset);
  team.Copy(MutableByteSpan(target).subspan(to_offset, bytes), from);
  const auto untouched = [](std::byte byte) { return byte == std::byte{7}; };
  if (!std::ranges::equal(ByteSpan(target).subspan(to_offset, bytes), from)) {
    return testing::AssertionFailure() << bytes << " bytes differ";
  }
  if (!std::ranges::all_of(ByteSpan(target).first(to_offset), untouched) ||
      !std::ranges::all_of(ByteSpan(target).last(kAround), untouched)) {
    return testing::AssertionFailure() << "beside " << bytes << " bytes";
  }
  return testing::AssertionSuccess();
}

TEST(CopyTeam, CopiesAllBytesAndNoOthers) {
  for (const int helpers : {0, 1, 3}) {
    CopyTeam team(helpers);
    for (const std::size_t bytes :
         {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{1000},
          CopyTeam::kLeastShared - 1, CopyTeam::kLeastShared, CopyTeam::kLeastShared + 12'345}) {
      EXPECT_TRUE(Copies(team, bytes, 0, 0)) << helpers;
      EXPECT_TRUE(Copies(team, bytes, 4, 20)) << helpers;
    }
  }
}

TEST(CopyTeam, ManyCopiesFollowEachOther) {
  CopyTeam team(3);
  const Bytes source = SomeBytes(CopyTeam::kLeastShared, 5);
  for (int i = 0; i < 200; ++i) {
    Bytes target(source.size());
    team.Copy(target, source);
    ASSERT_EQ(target, source) << i;
  }
}

TEST(CopyTeam, AForkedChildCopiesAlone) {
  CopyTeam team(2);
  ASSERT_TRUE(Copies(team, CopyTeam::kLeastShared, 0, 0));
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::alarm(60);  // a copy that waits for the parent's threads ends here
    const bool right = static_cast<bool>(Copies(team, CopyTeam::kLeastShared, 0, 0));
    team.~CopyTeam();  // nor does this wait for them
    ::_exit(right ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(CopyTeam, HelpersAreFewAndLeaveTheCoresToOthers) {
  EXPECT_EQ(CopyTeam::HelpersFor(1), 0);
  EXPECT_EQ(CopyTeam::HelpersFor(4), 0);
  EXPECT_EQ(CopyTeam::HelpersFor(8), 1);
  EXPECT_EQ(CopyTeam::HelpersFor(16), 3);
  EXPECT_EQ(CopyTeam::HelpersFor(192), 3);
}

}  // namespace
}  // namespace headrace::client
