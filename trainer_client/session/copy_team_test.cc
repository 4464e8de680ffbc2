#include "trainer_client/session/copy_team.h"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

namespace headrace::client {
namespace {

Bytes SomeBytes(std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> words(count / 8 + 1);
  for (std::uint64_t& word : words) word = random();
  Bytes bytes(count);
  std::memcpy(bytes.data(), words.data(), count);
  return bytes;
}

// Copies and looks at the bytes, and at those around them.
testing::AssertionResult Copies(CopyTeam& team, std::size_t bytes, std::size_t to_offset,
                                std::size_t from_offset) {
  constexpr std::size_t kAround = 128;
  const Bytes source = SomeBytes(bytes + from_offset + 1, bytes + 1);  // so it is never null
  Bytes target(bytes + to_offset + kAround, std::byte{7});
  const ByteSpan from = ByteSpan(source).subspan(from_offset, bytes);
  team.Copy(MutableByteSpan(target).subspan(to_offset, bytes), from);
  const auto untouched = [](std::byte byte) { return byte == std::byte{7}; };
  if (std::memcmp(target.data() + to_offset, from.data(), bytes) != 0) {
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
  Bytes target(source.size());
  for (int i = 0; i < 20; ++i) {
    std::memset(target.data(), i, target.size());
    team.Copy(target, source);
    ASSERT_EQ(std::memcmp(target.data(), source.data(), source.size()), 0) << i;
  }
}

// The first pages of two parts can't be read at first. The caller stops at one until a helper has
// come to the other, and the helper stops there until the caller has gone on, or some time.
std::atomic<bool> helper_came, caller_returned;
std::thread::id caller;

void LetRead(int, siginfo_t* info, void*) {
  const auto wait = [](const std::atomic<bool>& flag, int milliseconds) {
    for (int i = 0; i < milliseconds && !flag; ++i) ::usleep(1000);
  };
  if (std::this_thread::get_id() == caller) {
    wait(helper_came, 60'000);
  } else {
    helper_came = true;
    wait(caller_returned, 300);
  }
  const auto page = reinterpret_cast<std::uintptr_t>(info->si_addr) & ~std::uintptr_t{4095};
  ::mprotect(reinterpret_cast<void*>(page), 4096, PROT_READ | PROT_WRITE);
}

TEST(CopyTeam, EndsWithTheLastPartOfAHelper) {
  const std::size_t bytes = CopyTeam::kLeastShared, second_part = std::size_t{512} << 10;
  void* mapped = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  const MutableByteSpan source(static_cast<std::byte*>(mapped), bytes);
  const Bytes wanted = SomeBytes(bytes, 9);
  std::memcpy(source.data(), wanted.data(), bytes);
  ::mprotect(source.data(), 4096, PROT_NONE);
  ::mprotect(source.data() + second_part, 4096, PROT_NONE);
  struct sigaction action {};
  struct sigaction before {};
  action.sa_sigaction = LetRead;
  action.sa_flags = SA_SIGINFO;
  ::sigaction(SIGSEGV, &action, &before);
  caller = std::this_thread::get_id();

  CopyTeam team(1);
  Bytes target(bytes);
  team.Copy(target, source);
  const bool right = std::memcmp(target.data(), wanted.data(), bytes) == 0;
  caller_returned = true;
  EXPECT_TRUE(right);
  EXPECT_TRUE(helper_came);
  team.Copy(target, source);  // the helper has left the handler
  ::sigaction(SIGSEGV, &before, nullptr);
  ::munmap(mapped, bytes);
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
