#include "base/process/descriptors.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/process/spawn.h"
#include "base/unique_fd.h"

namespace headrace {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Descriptors, OpenOnesAreCounted) {
  const std::uint64_t before = OpenDescriptors();
  const UniqueFd one(::open("/dev/null", O_RDONLY)), two(::open("/dev/null", O_RDONLY));
  EXPECT_EQ(OpenDescriptors(), before + 2);
}

// In a process of its own, whose limits go with it.
TEST(Descriptors, TheLimitIsRaisedAndProgramsStartWithTheOldOne) {
  const pid_t child = ::fork();
  if (child == 0) {
    rlimit limit{};
    ::getrlimit(RLIMIT_NOFILE, &limit);
    const rlim_t hard = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    limit = {hard / 2, hard};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::_exit(2);
    if (RaiseDescriptorLimit() != hard || DescriptorLimit() != hard) ::_exit(3);
    const std::string old = std::to_string(hard / 2);
    // The limit comes just after its start.
    const std::string looks = "for i in 1 2 3 4 5 6 7 8 9; do [ $(ulimit -n) = " + old +
                              " ] && exit 0; sleep 0.1; done; exit 1";
    const Result<pid_t> shell = Spawn({.command = {"sh", "-c", looks}});
    int status = 0;
    if (!shell.ok() || ::waitpid(*shell, &status, 0) != *shell) ::_exit(4);
    ::_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 5);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Descriptors, AtTheLimitAllAreOpen) {
  const pid_t child = ::fork();
  if (child == 0) {
    const rlimit limit{32, 32};
    if (::setrlimit(RLIMIT_NOFILE, &limit) != 0) ::_exit(2);
    while (::open("/dev/null", O_RDONLY) >= 0) {
    }
    ::_exit(OpenDescriptors() == 32 ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(DescriptorAlarm, SaysItOnceAndAgainAfterItWasOver) {
  DescriptorAlarm alarm;
  EXPECT_THAT(alarm.Observe(899, 1000), IsEmpty());
  EXPECT_THAT(alarm.Observe(900, 1000), HasSubstr("900 of 1000 descriptors"));
  EXPECT_THAT(alarm.Observe(1000, 1000), IsEmpty());
  EXPECT_THAT(alarm.Observe(850, 1000), IsEmpty());
  EXPECT_THAT(alarm.Observe(950, 1000), IsEmpty()) << "it was never over";
  EXPECT_THAT(alarm.Observe(700, 1000), IsEmpty());
  EXPECT_THAT(alarm.Observe(901, 1000), HasSubstr("901 of 1000"));
  EXPECT_THAT(alarm.Observe(901, 0), IsEmpty()) << "no limit is known";
}

}  // namespace
}  // namespace headrace
