// Nobody has a lock at idle priority.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <utility>

#include "dataworker/share/pictures_ahead.h"
#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

// The kernel does not let an ordinary user's thread out of idle priority. The reactor takes the lock, too, so who has
// it must not be there. Who has it asks for the time.
TEST(PicturesAheadDeathTest, NobodyHasTheLockAtIdlePriorityAsAnOrdinaryUser) {
  const auto child = [] {
    const rlimit none{0, 0};
    constexpr uid_t kNobody = 65534;
    if (::setrlimit(RLIMIT_NICE, &none) != 0) return 2;
    if (::geteuid() == 0 && ::setresuid(kNobody, kNobody, kNobody) != 0) return 2;
    std::atomic<int> idle_times = 0, idle_decodes = 0;
    std::atomic<std::int64_t> now_ms = 5000;
    double idle_seconds = 0;
    const auto is_idle = [] { return ::sched_getscheduler(0) == SCHED_IDLE ? 1 : 0; };
    const auto ahead = std::make_shared<PicturesAhead>(PicturesAhead::Parts{
        .threads = 2,
        .memory = WorkerMemory::Make(PictureRing::kBytes),
        .decoder =
            [&](const std::string&, PicturesAhead::As, const PicturesAhead::Room& room) {
              idle_decodes += is_idle();
              const bool has_room = room(1).has_value();
              return PicturesAhead::Decoded{.what = has_room
                                                        ? PicturesAhead::Decoded::What::kDone
                                                        : PicturesAhead::Decoded::What::kNoRoom};
            },
        .now =
            [&] {
              idle_times += is_idle();
              return SteadyTime(std::chrono::milliseconds(now_ms));
            },
        .use = [&] { return ProcessorUse{.idle_seconds = idle_seconds += 0.4}; }});
    for (int i = 0; i < 2; ++i) {
      now_ms += 200;
      if (!ahead->Ask(SessionId(1), {}).ok()) return 3;
    }
    std::size_t rows = 0;
    PicturesAhead::Question question;
    for (std::int64_t i = 8; i < 16; ++i) question.wanted.push_back({i, "x"});
    while (rows < 8) {
      const auto told = ahead->Ask(SessionId(1), std::exchange(question, {}));
      if (!told.ok()) return 4;
      rows += told->rows.size();
      std::this_thread::yield();
    }
    ahead->Stop();
    if (idle_times != 0) return 5;
    return idle_decodes == 8 ? 0 : 6;
  };
  ::testing::GTEST_FLAG(death_test_style) = "threadsafe";
  EXPECT_EXIT(::_exit(child()), ::testing::ExitedWithCode(0), "");
}

}  // namespace
}  // namespace headrace::dataworker
