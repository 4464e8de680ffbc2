#include "dataworker/worker/await_address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/unique_fd.h"

namespace headrace::dataworker {
namespace {

constexpr Duration kPause = std::chrono::milliseconds(1);

class AwaitAddressTest : public testing::Test {
 protected:
  // Answers with kUnavailable `times` times, then with `last`.
  auto Await(int times, const Result<std::string>& last, int parent = -1) {
    asked_ = 0;
    testing::internal::CaptureStderr();
    auto address = AwaitAddress(
        [&]() -> Result<std::string> {
          if (asked_++ < times) return Unavailable("host head is not known");
          return last;
        },
        kPause, stop_.get(), parent);
    log_ = testing::internal::GetCapturedStderr();
    return address;
  }
  UniqueFd stop_{::eventfd(0, EFD_CLOEXEC)};
  std::string log_;
  int asked_ = 0;
};

TEST_F(AwaitAddressTest, ANameThatIsNotKnownYetIsAskedForAgainWithOneLogLine) {
  const auto address = Await(3, std::string("10.0.0.7"));
  ASSERT_TRUE(address.ok());
  EXPECT_EQ(*address, "10.0.0.7");
  EXPECT_EQ(asked_, 4);
  EXPECT_THAT(log_, testing::HasSubstr("host head is not known"));
  EXPECT_EQ(log_.find("still trying"), log_.rfind("still trying")) << log_;
  ASSERT_TRUE(Await(0, std::string("10.0.0.7")).ok());
  EXPECT_EQ(log_, "");
}

TEST_F(AwaitAddressTest, AnyOtherErrorIsReturnedAtOnce) {
  EXPECT_EQ(Await(0, InvalidArgument("malformed")).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(asked_, 1);
}

TEST_F(AwaitAddressTest, ASignalOrTheEndOfTheParentEndsTheWait) {
  const UniqueFd parent(::eventfd(1, EFD_CLOEXEC));
  auto ended = Await(1'000'000, std::string(), parent.get());
  ASSERT_TRUE(ended.ok());
  EXPECT_FALSE(ended->has_value());
  ASSERT_EQ(::eventfd_write(stop_.get(), 1), 0);
  ended = Await(1'000'000, std::string());
  ASSERT_TRUE(ended.ok());
  EXPECT_FALSE(ended->has_value());
}

}  // namespace
}  // namespace headrace::dataworker
