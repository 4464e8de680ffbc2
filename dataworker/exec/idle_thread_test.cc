// A thread at idle priority: it is there and nowhere else, also where the kernel lets nobody out again.
#include "dataworker/exec/idle_thread.h"

#include <grp.h>
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;

// The rest of this process has no right to leave SCHED_IDLE.
bool BecomeAnOrdinaryUser() {
  const rlimit none{0, 0};
  if (::setrlimit(RLIMIT_NICE, &none) != 0) return false;
  constexpr uid_t kNobody = 65534;
  return ::geteuid() != 0 ||
         (::setgroups(0, nullptr) == 0 && ::setresuid(kNobody, kNobody, kNobody) == 0);
}

std::vector<int> PoliciesOfOneRun() {
  std::vector<int> policies;
  const auto note = [&] { policies.push_back(::sched_getscheduler(0)); };
  IdleThread idle;
  for (int i = 0; i < 2; ++i) {
    idle.Run([&] {
      note();
      idle.AtOwner(note);
      note();
    });
    note();
  }
  return policies;
}

TEST(IdleThread, ItsOwnerKeepsItsPriority) {
  EXPECT_THAT(PoliciesOfOneRun(), ElementsAre(SCHED_IDLE, SCHED_OTHER, SCHED_IDLE, SCHED_OTHER,
                                              SCHED_IDLE, SCHED_OTHER, SCHED_IDLE, SCHED_OTHER));
}

TEST(IdleThreadDeathTest, ItsOwnerKeepsItsPriorityAsAnOrdinaryUser) {
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(
      {
        if (!BecomeAnOrdinaryUser()) ::_exit(2);
        bool right = true;
        const std::vector<int> policies = PoliciesOfOneRun();
        for (std::size_t i = 0; i < policies.size(); ++i) {
          right = right && policies[i] == (i % 2 == 0 ? SCHED_IDLE : SCHED_OTHER);
        }
        ::_exit(right ? 0 : 1);
      },
      ::testing::ExitedWithCode(0), "");
}

TEST(IdleThread, EndsWithoutWork) { const IdleThread idle; }

}  // namespace
}  // namespace headrace::dataworker
