#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "dataworker/worker/worker.h"

namespace headrace::dataworker {
namespace {

TEST(WorkerAddress, IsTheOneByWhichItReachesItsCoordinator) {
  auto reactor = std::move(net::Reactor::Make("worker")).value();
  WorkerOptions options;
  options.threads = 1;
  options.coordinator = "tcp://127.0.0.1:9";  // nobody is there
  const auto endpoint = [&] {
    const auto worker = Worker::Start(*reactor, options, [](Status) {});
    return worker.ok() ? (*worker)->info().endpoints.front() : worker.status().ToString();
  };
  EXPECT_THAT(endpoint(), testing::StartsWith("tcp://127.0.0.1:"));
  options.advertise = "a.gate";
  EXPECT_THAT(endpoint(), testing::StartsWith("tcp://a.gate:"));
}

TEST(WorkerAddress, ThatOtherHostsReachMustBeAllowed) {
  auto reactor = std::move(net::Reactor::Make("worker")).value();
  WorkerOptions options;
  options.threads = 1;
  options.listen = "tcp://0.0.0.0:0";
  const Status refused = Worker::Start(*reactor, options, [](Status) {}).status();
  EXPECT_EQ(refused.code(), Code::kInvalidArgument);
  EXPECT_THAT(refused.message(), testing::HasSubstr("--insecure"));
  options.insecure = true;
  EXPECT_TRUE(Worker::Start(*reactor, options, [](Status) {}).ok());
}

}  // namespace
}  // namespace headrace::dataworker
