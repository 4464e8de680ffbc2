#include "dataworker/worker/local_turn.h"

#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <future>
#include <utility>

#include "dataworker/worker/worker_fixture.h"

namespace headrace::dataworker {
namespace {

constexpr char kCoordinator[] = "tcp://head:7070";

class LocalTurn : public testing::Test {
 protected:
  [[nodiscard]] std::optional<UniqueFd> Await(const std::string& coordinator,
                                              int parent = -1) const {
    auto turn = AwaitLocalTurn(directory_.path(), coordinator, stop_.get(), parent);
    EXPECT_TRUE(turn.ok()) << turn.status().ToString();
    return std::move(turn).value();
  }
  TemporaryDirectory directory_;
  UniqueFd stop_{::eventfd(0, EFD_CLOEXEC)};
};

TEST_F(LocalTurn, OneAtATimeForEachCoordinator) {
  std::optional<UniqueFd> first = Await(kCoordinator);
  ASSERT_TRUE(first.has_value());
  EXPECT_TRUE(Await("tcp://other:7070").has_value());
  auto second = std::async(std::launch::async, [this] { return Await(kCoordinator).has_value(); });
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(50)), std::future_status::timeout);
  first.reset();
  EXPECT_TRUE(second.get());
}

TEST_F(LocalTurn, ASignalOrTheEndOfTheParentEndsTheWait) {
  const std::optional<UniqueFd> first = Await(kCoordinator);
  const UniqueFd parent(::eventfd(1, EFD_CLOEXEC));
  EXPECT_FALSE(Await(kCoordinator, parent.get()).has_value());
  ::eventfd_write(stop_.get(), 1);
  EXPECT_FALSE(Await(kCoordinator).has_value());
}

TEST_F(LocalTurn, AProcessThatIsKilledGivesItsTurnBack) {
  int ready[2];
  ASSERT_EQ(::pipe(ready), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto turn = AwaitLocalTurn(directory_.path(), kCoordinator, stop_.get(), -1);
    const char got = turn.ok() && turn->has_value() ? 'y' : 'n';
    (void)!::write(ready[1], &got, 1);
    ::pause();
    ::_exit(0);
  }
  char got = 0;
  ASSERT_EQ(::read(ready[0], &got, 1), 1);
  EXPECT_EQ(got, 'y');
  ::kill(child, SIGKILL);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  EXPECT_TRUE(Await(kCoordinator).has_value());
  ::close(ready[0]);
  ::close(ready[1]);
}

TEST_F(LocalTurn, AFolderThatIsNotThereIsAnError) {
  EXPECT_EQ(AwaitLocalTurn(directory_.path() + "/none", kCoordinator, -1, -1).status().code(),
            Code::kNotFound);
}

}  // namespace
}  // namespace headrace::dataworker
