#include "base/testing/hang_watch.h"

#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <string>

#include "gmock/gmock.h"

namespace headrace::testing {
namespace {

using std::chrono::milliseconds;
using ::testing::AllOf;
using ::testing::HasSubstr;

__attribute__((noinline)) void WaitsForEver() {
  while (true) ::pause();
}

// What a program that hangs writes, and its exit code.
std::pair<std::string, int> OfFork(void (*what)()) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe(ends.data()), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    ::dup2(ends[1], STDERR_FILENO);
    ::close(ends[0]);
    what();
    ::_exit(0);
  }
  ::close(ends[1]);
  std::string text;
  std::array<char, 4096> part{};
  for (ssize_t size = 0; (size = ::read(ends[0], part.data(), part.size())) > 0;) {
    text.append(part.data(), static_cast<std::size_t>(size));
  }
  ::close(ends[0]);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {text, WIFEXITED(status) ? WEXITSTATUS(status) : -1};
}

TEST(HangWatch, AProgramThatHangsNamesItsTestAndWhereItIs) {
  const auto [text, code] = OfFork([] {
    HangWatch::Arm("Suite.Name", milliseconds(20));
    WaitsForEver();
  });
  EXPECT_EQ(code, HangWatch::kHung);
  EXPECT_THAT(text, AllOf(HasSubstr("This test hangs: Suite.Name\n"), HasSubstr("WaitsForEver")));
}

TEST(HangWatch, TheNextTestHasItsOwnTime) {
  const auto [text, code] = OfFork([] {
    HangWatch::Arm("Suite.Quick", milliseconds(20));
    HangWatch::Arm("Suite.Patient", milliseconds(0));
    timespec longer{0, 40'000'000};
    ::nanosleep(&longer, nullptr);
  });
  EXPECT_EQ(code, 0);
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace headrace::testing
