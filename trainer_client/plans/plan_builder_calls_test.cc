#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "base/test_draws.h"
#include "gtest/gtest.h"
#include "headrace/plan_builder.h"
#include "ops/core/op_registry.h"
#include "trainer_client/client/session_plan.h"
#include "trainer_client/plans/plan_builder_fixture.h"

// Calls of a plan builder in any order and with any arguments.
namespace headrace {
namespace {

using test_draws::Between;
using test_draws::OneOf;
using test_draws::Random;

// Any value for an argument, more often than not one that fits.
Arg AnyValue(Random& random, const ops::ArgSpec& arg) {
  const double low = arg.limits.least.value_or(-3),
               high = std::min(arg.limits.most.value_or(40), 40.0);
  const auto number = [&] {
    return Between(random, 0, 9) == 0
               ? Between(random, -100, 2'000'000)
               : Between(random, static_cast<std::int64_t>(low),
                         std::max<std::int64_t>(static_cast<std::int64_t>(low),
                                                static_cast<std::int64_t>(high)));
  };
  if (arg.type == ops::ArgType::kText || Between(random, 0, 30) == 0) {
    const std::vector<std::string>& choices = arg.limits.choices;
    return choices.empty() || Between(random, 0, 9) == 0 ? Arg("?") : Arg(OneOf(random, choices));
  }
  const bool list = arg.type == ops::ArgType::kInts || arg.type == ops::ArgType::kNumbers;
  if (!list || Between(random, 0, 5) == 0) {
    return Between(random, 0, 3) == 0 ? Arg(0.25 * static_cast<double>(number())) : Arg(number());
  }
  const std::vector<std::size_t>& counts = arg.limits.counts;
  const std::size_t count = counts.empty() || Between(random, 0, 9) == 0
                                ? static_cast<std::size_t>(Between(random, 0, 12))
                                : OneOf(random, counts);
  std::vector<std::int64_t> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(number());
  return Arg(values);
}

StepArgs AnyArgs(Random& random, const ops::OpSpec& spec) {
  StepArgs args;
  for (const ops::ArgSpec& arg : spec.args) {
    if (arg.required ? Between(random, 0, 30) > 0 : Between(random, 0, 4) == 0) {
      args.emplace_back(arg.name, AnyValue(random, arg));
    }
  }
  if (Between(random, 0, 20) == 0)
    args.emplace_back("draws_of", StepValue{static_cast<std::int32_t>(Between(random, -1, 6))});
  if (Between(random, 0, 60) == 0) args.emplace_back("no_such", 1);
  return args;
}

void AnyCall(Random& random, PlanBuilder& builder) {
  static const std::vector<std::string> common{"to_tensor", "center_crop", "random_horizontal_flip",
                                               "decode"};
  static const auto names = [] {
    std::vector<std::string> all;
    for (const auto& [name, entry] : ops::SchemaRegistry::Builtin().entries()) all.push_back(name);
    return all;
  }();
  const auto step = [&] { return StepValue{static_cast<std::int32_t>(Between(random, -2, 8))}; };
  switch (Between(random, 0, 19)) {
    case 0:
      builder.From(step());
      break;
    case 1:
      builder.FromSample();
      break;
    case 2:
      builder.Stack({step(), step()});
      break;
    case 3:
      builder.ListField();
      break;
    case 4:
      builder.LabelField();
      break;
    case 5:
      builder.ArrayField(static_cast<int>(Between(random, -1, 3)));
      break;
    case 6:
      builder.Rows({Between(random, -1, 4), 0});
      break;
    case 7:
      builder.Random(static_cast<RngMode>(Between(random, 0, 3)),
                     static_cast<std::int32_t>(Between(random, 0, 4)));
      break;
    case 8:
      builder.Then("squeeze");
      break;
    case 9:
      builder.Libraries(
          {"13.0.0", "2.13.0", "0.28.0", OneOf<std::string>(random, {"AVX2", "DEFAULT", ""})});
      break;
    case 10:
    case 11:
    case 12:
      builder.Field();
      break;
    default: {
      const std::string op =
          Between(random, 0, 2) == 0 ? OneOf(random, common) : OneOf(random, names);
      builder.Then(op, AnyArgs(random, ops::SchemaRegistry::Builtin().Find(op)->spec));
    }
  }
}

// No sequence of calls ends the process. What is built is a plan that a session takes.
TEST(PlanBuilderCalls, AnyCallsMakeAPlanOrAMistake) {
  const unsigned seed = test_draws::SeedOr(21);
  SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(seed));
  Random random(seed);
  client::KnownSizes sizes;
  int plans = 0, refused_by_build = 0;
  for (int round = 0; round < 20'000; ++round) {
    const std::int64_t kind = Between(random, 0, 5);
    PlanBuilder builder(kind == 0   ? test_plans::Columns()
                        : kind == 1 ? test_plans::Pairs()
                                    : test_plans::Pictures());
    if (kind == 0 && Between(random, 0, 2) > 0) builder.Then("from_array", {{"mode", "RGB"}});
    if (kind > 0 && Between(random, 0, 4) > 0) builder.Then("decode");
    // A table for exp takes 0.1 s: its steps are built without.
    builder.TorchExp([](auto, auto) { return Unavailable("no table"); });
    for (std::int64_t calls = Between(random, 0, 6); calls > 0; --calls) AnyCall(random, builder);
    if (Between(random, 0, 3) > 0) builder.Field();
    const auto built = builder.Build();
    if (built.ok()) {
      ++plans;
      const auto taken = client::SessionPlan::Make(built->plan, built->blobs, sizes);
      EXPECT_TRUE(taken.ok()) << "round " << round << ": " << taken.status().ToString();
      continue;
    }
    refused_by_build += builder.status().ok() ? 1 : 0;
    const Code code = built.status().code();
    EXPECT_TRUE(code == Code::kInvalidArgument || code == Code::kUnsupported ||
                built.status() == Unavailable("no table"))
        << built.status().ToString();
  }
  EXPECT_GT(plans, 1000);
  EXPECT_GT(refused_by_build, 1000);
}

}  // namespace
}  // namespace headrace
