#include "headrace/plan_builder.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "headrace/image_folder.h"
#include "ops/torch/torch_exp.h"
#include "trainer_client/plans/plan_builder_fixture.h"

namespace headrace {
namespace {

using test_plans::Columns;
using test_plans::Pairs;
using test_plans::Pictures;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;
using Numbers = std::vector<double>;

Node NodeOf(const std::string& op, Args args = {}, Purity purity = Purity::kPure) {
  Node node;
  node.op = op;
  node.label = op;
  node.args = std::move(args);
  node.purity = purity;
  return node;
}

TEST(PlanBuilder, MakesAChainWithALabel) {
  const auto built = PlanBuilder(Pictures())
                         .Then("decode")
                         .Then("random_crop", {{"size", 32}, {"padding", {4, 4}}})
                         .Then("random_horizontal_flip", {{"p", 1}})
                         .Then("to_tensor")
                         .Then("normalize", {{"mean", {0.5, 0.25, 1.0}}, {"std", {1, 2, 3}}})
                         .Field()
                         .LabelField()
                         .Random(RngMode::kTorch, 3)
                         .Build();
  ASSERT_TRUE(built.ok()) << built.status().ToString();
  const Plan& plan = built->plan;
  EXPECT_EQ(
      plan.chain,
      (std::vector<Node>{
          NodeOf("decode"),
          NodeOf("random_crop", {{"size", std::int64_t{32}}, {"padding", Ints{4, 4}}},
                 Purity::kRandom),
          NodeOf("random_horizontal_flip", {{"p", 1.0}}, Purity::kRandom), NodeOf("to_tensor"),
          NodeOf("normalize", {{"mean", Numbers{0.5, 0.25, 1}}, {"std", Numbers{1, 2, 3}}})}));
  EXPECT_EQ(plan.fields,
            (std::vector<FieldSpec>{{FieldSpec::Kind::kChain, 0}, {FieldSpec::Kind::kArray, 1}}));
  EXPECT_EQ(plan.rng, RngMode::kTorch);
  EXPECT_EQ(plan.lanes, 3);
  EXPECT_EQ(plan.name, "Files(/pictures)");
  EXPECT_EQ(built->samples, 3);
  EXPECT_FALSE(plan.row_map.valid());
}

TEST(PlanBuilder, NothingIsDrawnWhereNoStepDraws) {
  const auto built =
      PlanBuilder(Pictures()).Then("decode").Then("center_crop", {{"size", 8}}).Field().Build();
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(built->plan.rng, RngMode::kNone);
  EXPECT_TRUE(built->plan.constants.empty());
}

TEST(PlanBuilder, TwoViewsShareWhatComesBefore) {
  PlanBuilder builder(Pictures());
  const StepValue image = builder.Then("decode").value();
  builder.Then("center_crop", {{"size", 8}}).Then("to_tensor").Field();
  builder.From(image).Then("resize", {{"size", {9, 9}}}).Then("to_tensor").Field();
  const auto built = builder.Build();
  ASSERT_TRUE(built.ok()) << built.status().ToString();
  EXPECT_EQ(built->plan.chain[3].inputs, std::vector<std::int32_t>{0});
  EXPECT_TRUE(built->plan.chain[4].inputs.empty());
  EXPECT_EQ(built->plan.fields,
            (std::vector<FieldSpec>{{FieldSpec::Kind::kValue, 2}, {FieldSpec::Kind::kValue, 4}}));
}

TEST(PlanBuilder, AMaskIsCroppedWhereItsPictureIs) {
  PlanBuilder builder(Pairs());
  builder.Then("decode").Then("random_crop", {{"size", 8}});
  const StepValue crop = builder.value();
  builder.Then("to_tensor").Field();
  builder.FromSample()
      .Then("decode", {{"mode", "index"}, {"file", 1}})
      .Then("random_crop", {{"size", 8}, {"draws_of", crop}})
      .Then("pil_to_tensor")
      .Then("squeeze")
      .Field();
  const auto built = builder.Build();
  ASSERT_TRUE(built.ok()) << built.status().ToString();
  EXPECT_EQ(built->plan.chain[3].inputs, std::vector<std::int32_t>{Node::kSource});
  EXPECT_EQ(built->plan.chain[4].args.at("draws_of"), ArgValue(std::int64_t{1}));
  EXPECT_EQ(built->plan.leaves[0].source, "file_groups");
  // A source of one file is too little for it.
  PlanBuilder of_one(Pictures());
  of_one.Then("decode").Then("to_tensor").Field();
  of_one.FromSample().Then("decode", {{"file", 1}}).Then("to_tensor").Field();
  EXPECT_EQ(of_one.Build().status().code(), Code::kInvalidArgument);
}

TEST(PlanBuilder, ValuesAreStacked) {
  PlanBuilder builder(Pictures());
  const StepValue image = builder.Then("decode").value();
  std::vector<StepValue> crops;
  for (const int part : {0, 4}) {
    builder.From(image).Then("five_crop", {{"size", 8}, {"part", part}}).Then("to_tensor");
    crops.push_back(builder.value());
  }
  const auto built = builder.Stack(crops).Field().Build();
  ASSERT_TRUE(built.ok()) << built.status().ToString();
  EXPECT_EQ(built->plan.chain.back().inputs, (std::vector<std::int32_t>{2, 4}));
}

TEST(PlanBuilder, SizesThatDifferMakeAList) {
  PlanBuilder builder(Pictures());
  builder.Then("decode").Then("random_shortest_size", {{"min_size", {8, 9}}}).Then("to_tensor");
  EXPECT_TRUE(PlanBuilder(builder).ListField().Build().ok());
  const Status stacked = builder.Field().Build().status();
  EXPECT_EQ(stacked.code(), Code::kUnsupported);
  EXPECT_THAT(stacked.message(), HasSubstr("step 2 to_tensor"));
}

TEST(PlanBuilder, RowsOfArraysAreFields) {
  const auto built = PlanBuilder(Columns())
                         .Then("from_array", {{"mode", "RGB"}})
                         .Then("to_tensor")
                         .Field()
                         .ArrayField(1)
                         .ArrayField(0)
                         .Build();
  ASSERT_TRUE(built.ok()) << built.status().ToString();
  EXPECT_EQ(built->plan.fields.size(), 3U);
  const auto plain = PlanBuilder(Columns()).ArrayField(1).Build();
  ASSERT_TRUE(plain.ok()) << plain.status().ToString();
  EXPECT_TRUE(plain->plan.chain.empty());
}

TEST(PlanBuilder, RowsAreASubset) {
  const Ints rows{2, 0, 2};
  const auto built = PlanBuilder(Pictures())
                         .Rows(rows)
                         .Then("decode")
                         .Then("resize", {{"size", {4, 4}}})
                         .Field()
                         .Build();
  ASSERT_TRUE(built.ok());
  EXPECT_EQ(built->samples, 3);
  const Blob& map = built->blobs.at(built->plan.row_map);
  EXPECT_EQ(CopyBytes(map.data), CopyBytes(std::as_bytes(std::span(rows))));
}

TEST(PlanBuilder, TheExpOfATorchCanBeGiven) {
  const auto build = [](PlanBuilder::Exp exp) {
    PlanBuilder builder(Pictures());
    if (exp) builder.TorchExp(std::move(exp));
    return builder.Then("decode").Then("random_resized_crop", {{"size", 8}}).Field().Build();
  };
  const auto rounded = build(nullptr);
  const auto same = build([](std::span<const float> in, std::span<float> out) {
    std::ranges::transform(in, out.begin(), ops::ExpFloat);
    return Status::Ok();
  });
  const auto other = build([](std::span<const float> in, std::span<float> out) {
    std::ranges::transform(in, out.begin(),
                           [](float x) { return std::nextafter(ops::ExpFloat(x), 9.F); });
    return Status::Ok();
  });
  const auto none = build([](auto, auto) { return Unavailable("no torch today"); });
  ASSERT_TRUE(rounded.ok() && same.ok() && other.ok());
  EXPECT_EQ(rounded->plan, same->plan);
  EXPECT_NE(rounded->plan.constants, other->plan.constants);
  EXPECT_EQ(none.status(), Unavailable("no torch today"));
}

// What a mistake's message says. Each is made by one call that is wrong.
struct Mistake {
  std::function<void(PlanBuilder&)> call;
  const char* says;
};

TEST(PlanBuilder, MistakesNameTheStepAndWhatMayBe) {
  const std::vector<Mistake> mistakes{
      {[](auto& b) { b.Then("resise"); }, "step 1 resise: there is no such operator"},
      {[](auto& b) { b.Then("stack"); }, "step 1 stack: Stack adds it"},
      {[](auto& b) {
         b.Then("squeeze", {{"dim", 0}});
       },
       "step 1 squeeze: it has no arguments"},
      {[](auto& b) {
         b.Then("crop", {{"top", 0}, {"left", 0}});
       },
       "step 1 crop: argument size is missing: side of a square, or [height, width] (1..1048576, 1 "
       "or 2 values)"},
      {[](auto& b) {
         b.Then("center_crop", {{"size", 0}});
       },
       "step 1 center_crop: argument size is 0, and may be 1..1048576, 1 or 2 values (pixels)"},
      {[](auto& b) {
         b.Then("center_crop", {{"size", {1, 2, 3}}});
       },
       "argument size is [1, 2, 3], and may be 1..1048576, 1 or 2 values (pixels)"},
      {[](auto& b) {
         b.Then("center_crop", {{"size", "big"}});
       },
       "argument size is \"big\", which is not integer or integers"},
      {[](auto& b) {
         b.Then("center_crop", {{"size", 1.5}});
       },
       "argument size is 1.5"},
      {[](auto& b) {
         b.Then("center_crop", {{"size", 1}, {"size", 2}});
       },
       "argument size is given twice"},
      {[](auto& b) {
         b.Then("center_crop", {{"size", 1}, {"sise", 2}});
       },
       "step 1 center_crop: there is no argument sise; it has size"},
      {[](auto& b) {
         b.Then("to_tensor", {{"p", 1}});
       },
       "there is no argument p; it has none"},
      {[](auto& b) {
         b.Then("resize", {{"size", 8}, {"interpolation", "cubic"}});
       },
       "argument interpolation is \"cubic\", and may be nearest, nearest-exact, bilinear, bicubic, "
       "lanczos, box or hamming"},
      {[](auto& b) {
         b.Then("random_crop", {{"size", 8}, {"draws_of", 1}});
       },
       "argument draws_of is 1, and may be the value of an earlier step"},
      {[](auto& b) {
         b.Then("random_crop", {{"size", 8}, {"draws_of", StepValue{}}});
       },
       "argument draws_of is -1"},
      {[](auto& b) { b.From({1}); }, "From the value of step 1, of 1 steps"},
      {[](auto& b) { b.From({-1}); }, "From the value of step -1"},
      {[](auto& b) { b.Stack({}); }, "step 1 stack: values may be those of earlier steps"},
      {[](auto& b) {
         b.Stack({{0}, {7}});
       },
       "step 1 stack: values may be"},
      {[](auto& b) { b.FromSample().Field(); }, "a field of no step"},
      {[](auto& b) { b.ArrayField(0); }, "ArrayField: there is no array 0 of 0"},
      {[](auto& b) { b.Rows({}); }, "Rows: there is none"},
      {[](auto& b) {
         b.Rows({0, 3});
       },
       "Rows: row 3 of a source of 3"},
      {[](auto& b) { b.Rows({-1}); }, "Rows: row -1"},
      {[](auto& b) { b.Random(RngMode::kNone); }, "Random: the mode is kSample or kTorch"},
      {[](auto& b) { b.Random(RngMode::kTorch, 0); }, "Random: lanes is 0, and may be 1..65536"},
      {[](auto& b) { b.TorchExp(nullptr); }, "TorchExp: there is no function"},
  };
  for (const Mistake& mistake : mistakes) {
    PlanBuilder builder(Pictures());
    builder.Then("decode");
    mistake.call(builder);
    EXPECT_EQ(builder.status().code(), Code::kInvalidArgument) << mistake.says;
    EXPECT_THAT(builder.status().message(), HasSubstr(mistake.says));
    // Later calls change nothing.
    builder.Then("no_such").Field().LabelField().From({0});
    EXPECT_THAT(builder.Build().status().message(), HasSubstr(mistake.says));
  }
  PlanBuilder arrays(Columns());
  arrays.LabelField();
  EXPECT_THAT(arrays.status().message(), HasSubstr("a source of arrays has no labels"));
  EXPECT_THAT(PlanBuilder(PlanSource()).Then("decode").Field().Build().status().message(),
              HasSubstr("a source of no samples"));
}

TEST(PlanBuilder, BuildFindsWhatOnlyThePlanShows) {
  const auto message = [](const PlanBuilder& builder) {
    return builder.Build().status().message();
  };
  const auto begin = [] { return std::move(PlanBuilder(Pictures()).Then("decode")); };
  EXPECT_THAT(message(begin()), HasSubstr("a plan of no fields"));
  EXPECT_THAT(message(begin().LabelField()), HasSubstr("step 0 decode: no field is made"));
  EXPECT_THAT(message(begin().Then("normalize", {{"mean", 0}, {"std", 1}}).Field()),
              HasSubstr("step 1 normalize"));
  EXPECT_THAT(message(begin().Then("decode").Field()), HasSubstr("step 1 decode"));
  EXPECT_THAT(message(begin().Field().Then("to_tensor")), HasSubstr("step 1 to_tensor: no field"));
  EXPECT_THAT(message(begin().Then("to_tensor").Then("random_apply", {{"nodes", 2}}).Field()),
              HasSubstr("step 2 random_apply"));
  EXPECT_THAT(message(PlanBuilder(Columns()).Then("decode").Field()),
              HasSubstr("step 0 takes files"));
  EXPECT_THAT(message(PlanBuilder(Pictures()).Then("from_array", {{"mode", "L"}}).Field()),
              HasSubstr("step 0 takes rows of arrays"));
}

// The plan of an image folder as it has always been: caches of pools and golden batches know it.
TEST(PlanBuilder, ImageFolderIsWhatItWas) {
  const std::string root = testing::TempDir() + "plan_builder_test";
  ASSERT_EQ(std::system(("rm -rf " + root + " && mkdir -p " + root + "/a " + root + "/b && touch " +
                         root + "/a/0.jpg " + root + "/b/1.png")
                            .c_str()),
            0);
  for (const bool train : {true, false}) {
    ImageFolderOptions options;
    options.train = train;
    options.rng = RngMode::kTorch;
    options.lanes = 2;
    const auto folder = OpenImageFolder(root, options);
    ASSERT_TRUE(folder.ok()) << folder.status().ToString();
    Plan plan;
    plan.name = "ImageFolder(" + root + ")";
    SourceLeaf& leaf = plan.leaves.emplace_back();
    leaf.rows = 2;
    leaf.table = folder->plan.leaves[0].table;
    plan.libraries = {"13.0.0", "2.13.0", "0.28.0", "AVX2"};
    plan.chain = {NodeOf("decode")};
    if (train) {
      plan.chain.push_back(
          NodeOf("random_resized_crop", {{"size", Ints{224, 224}}}, Purity::kRandom));
      plan.chain.push_back(NodeOf("random_horizontal_flip", {}, Purity::kRandom));
    } else {
      plan.chain.push_back(NodeOf("resize", {{"size", Ints{256}}}));
      plan.chain.push_back(NodeOf("center_crop", {{"size", Ints{224, 224}}}));
    }
    plan.chain.push_back(NodeOf("to_tensor"));
    plan.chain.push_back(NodeOf("normalize", {{"mean", Numbers{0.485, 0.456, 0.406}},
                                              {"std", Numbers{0.229, 0.224, 0.225}}}));
    plan.fields = {{FieldSpec::Kind::kChain, 0}, {FieldSpec::Kind::kArray, 1}};
    plan.rng = train ? RngMode::kTorch : RngMode::kNone;
    plan.lanes = 2;
    if (train) plan.constants = folder->plan.constants;
    EXPECT_EQ(folder->plan, plan);
    EXPECT_EQ(folder->plan.constants.size(), train ? 1U : 0U);
    EXPECT_EQ(folder->classes, (std::vector<std::string>{"a", "b"}));
  }
}

}  // namespace
}  // namespace headrace
