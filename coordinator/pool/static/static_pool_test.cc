#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "coordinator/pool/core/fake_reactor.h"
#include "coordinator/pool/core/pool.h"

namespace headrace::coordinator {
namespace {

TEST(StaticPool, SaysHowToStartAWorkerAndForgetsThoseThatLeave) {
  FakeReactor reactor;
  PoolRegistry registry;
  RegisterPools(registry);
  auto pool = registry.Make("static", {}, reactor, {}, {});
  ASSERT_TRUE(pool.ok());
  EXPECT_THAT((*pool)->Grow(2).message(), testing::HasSubstr("headrace worker --coordinator"));
  wire::WorkerInfo info;
  info.worker = WorkerId(4);
  (*pool)->Registered(info);
  EXPECT_EQ((*pool)->List().size(), 1U);
  (*pool)->Left(WorkerId(4));
  EXPECT_TRUE((*pool)->List().empty());
}

}  // namespace
}  // namespace headrace::coordinator
