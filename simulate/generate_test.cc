#include "simulate/generate.h"

#include <gtest/gtest.h>

#include "simulate/trace/trace.h"

namespace headrace::simulate {
namespace {

TEST(Generate, SameSeedSameBytes) {
  GenerateOptions options;
  options.seed = 7;
  const std::string text = WriteTrace(*Generate(options));
  EXPECT_EQ(text, WriteTrace(*Generate(options)));
  options.seed = 8;
  EXPECT_NE(text, WriteTrace(*Generate(options)));
}

TEST(Generate, DemandAndLoadAreAsAsked) {
  GenerateOptions options;
  options.jobs = 20000;
  const auto trace = Generate(options);
  ASSERT_TRUE(trace.ok());
  double ones = 0, eights = 0;
  for (const Job& job : trace->jobs) {
    ones += job.gpus == 1;
    eights += job.gpus == 8;
  }
  EXPECT_NEAR(ones / 20000, 0.70, 0.02);
  EXPECT_NEAR(eights / 20000, 0.05, 0.01);
  const auto again = ReadTrace({"g.csv", WriteTrace(*trace), {}}, {});
  ASSERT_TRUE(again.ok()) << again.status().ToString();
  EXPECT_EQ(again->jobs.size(), 20000U);
}

TEST(Generate, OptionsOutOfRangeAreErrors) {
  GenerateOptions options;
  options.jobs = 0;
  EXPECT_EQ(Generate(options).status().code(), Code::kInvalidArgument);
  options = {};
  options.vision = 0.9;
  options.speech = 0.2;
  EXPECT_FALSE(Generate(options).ok());
}

}  // namespace
}  // namespace headrace::simulate
