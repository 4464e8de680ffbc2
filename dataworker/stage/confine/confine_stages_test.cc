#include "dataworker/stage/confine/confine_stages.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::vector<std::string> kData = {"/data", "/mnt/data"};
const ConfinementGiven kAll;
const ConfinementGiven kNoView = {.view = "make namespaces: Operation not permitted"};
const ConfinementGiven kNothing = {.filter = "no seccomp", .view = "no namespaces"};

ConfinementChosen Chosen(const StageRules& rules, const std::vector<std::string>& roots,
                         const ConfinementGiven& given) {
  auto chosen = ChooseConfinement(rules, roots, 1024, given);
  EXPECT_TRUE(chosen.ok()) << chosen.status().ToString();
  return chosen.ok() ? *chosen : ConfinementChosen();
}

TEST(ChooseConfinement, ByDefaultAllThatTheKernelGives) {
  const ConfinementChosen chosen = Chosen({}, kData, kAll);
  EXPECT_TRUE(chosen.confinement.filter);
  EXPECT_EQ(chosen.confinement.roots, kData);
  EXPECT_EQ(chosen.confinement.open_files, 65536U);
  EXPECT_EQ(chosen.confinement.usual_files, 1024U);
  EXPECT_THAT(chosen.warnings, IsEmpty());
}

TEST(ChooseConfinement, WhatIsNotGivenIsSaidAndTheRestHolds) {
  const ConfinementChosen chosen = Chosen({}, kData, kNoView);
  EXPECT_TRUE(chosen.confinement.filter);
  EXPECT_THAT(chosen.confinement.roots, IsEmpty());
  EXPECT_THAT(chosen.warnings,
              ElementsAre(HasSubstr("--allow-root does not bind the code of Python "
                                    "stages here: make namespaces")));
  EXPECT_THAT(Chosen({}, {}, kNothing).warnings, ElementsAre(HasSubstr("no seccomp")));
  EXPECT_EQ(Chosen({}, kData, kNothing).warnings.size(), 2U);
}

TEST(ChooseConfinement, WithoutTheFilterThereIsNoView) {  // its root could be left again
  const ConfinementChosen chosen = Chosen({}, kData, {.filter = "no seccomp"});
  EXPECT_THAT(chosen.confinement.roots, IsEmpty());
  EXPECT_EQ(chosen.warnings.size(), 2U);
}

TEST(ChooseConfinement, WhatIsRequiredAndNotGivenIsRefused) {
  const StageRules rules{.sandbox = StageSandbox::kRequired};
  EXPECT_THAT(Chosen(rules, kData, kAll).warnings, IsEmpty());
  EXPECT_THAT(Chosen(rules, {}, kNoView).warnings, IsEmpty());  // nobody asks for a view
  for (const ConfinementGiven& given : {kNoView, kNothing}) {
    const auto refused = ChooseConfinement(rules, kData, 1024, given);
    ASSERT_FALSE(refused.ok());
    EXPECT_THAT(refused.status().message(), HasSubstr("--stage-sandbox required"));
  }
}

TEST(ChooseConfinement, OffSaysNothingAndLimitsAllTheSame) {
  const ConfinementChosen chosen =
      Chosen({.sandbox = StageSandbox::kOff, .user = "nobody", .open_files = 100}, kData, kNothing);
  EXPECT_FALSE(chosen.confinement.filter);
  EXPECT_THAT(chosen.confinement.roots, IsEmpty());
  EXPECT_EQ(chosen.confinement.user, "nobody");
  EXPECT_EQ(chosen.confinement.open_files, 100U);
  EXPECT_THAT(chosen.warnings, IsEmpty());
}

TEST(ChooseConfinement, ProcessesAreCountedWhereTheirUserHasNoOthers) {
  EXPECT_EQ(Chosen({}, {}, kAll).confinement.processes, 0U);
  EXPECT_EQ(Chosen({}, kData, kNoView).confinement.processes, 0U);
  EXPECT_EQ(Chosen({}, kData, kAll).confinement.processes, 16384U);
  EXPECT_EQ(Chosen({.user = "nobody"}, {}, kAll).confinement.processes, 16384U);
  EXPECT_EQ(Chosen({}, kData, kAll).confinement.WithoutView().processes, 0U);
  EXPECT_EQ(Chosen({.user = "nobody"}, kData, kAll).confinement.WithoutView().processes, 16384U);
}

TEST(ChooseConfinement, VariablesAreThoseOfStagesUnlessTheProcessSeesWhatItsStarterSees) {
  const StageRules rules{.variables = {"ONE"}};
  const Confinement chosen = Chosen(rules, {}, kAll).confinement;
  EXPECT_TRUE(chosen.few_variables);
  EXPECT_THAT(chosen.variables, ElementsAre("ONE"));
  EXPECT_TRUE(Chosen(rules, {}, kNothing).confinement.few_variables);  // no kernel is needed
  EXPECT_FALSE(chosen.WithoutView().few_variables);
  EXPECT_FALSE(Chosen({.sandbox = StageSandbox::kOff}, {}, kAll).confinement.few_variables);
}

TEST(ChooseConfinement, AnywhereNeedsNoView) {
  EXPECT_THAT(Chosen({}, {"/data", "/"}, kNoView).warnings, IsEmpty());
}

TEST(ConfinementWords, AreReadAsTheyWereWritten) {
  const Confinement all{.user = "some one",
                        .memory_bytes = 1,
                        .open_files = 2,
                        .usual_files = 3,
                        .processes = UINT64_MAX,
                        .filter = true,
                        .roots = {"/a b", "/c=d"},
                        .few_variables = true,
                        .variables = {"ONE", "TWO*"}};
  for (const Confinement& one : {all, Confinement()}) {
    const auto read = Confinement::Parse(one.Words());
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(*read, one);
  }
  for (const char* word : {"filters", "memory=1x", "memory=", "memory=-1", "files"}) {
    EXPECT_FALSE(Confinement::Parse(std::vector<std::string>{word}).ok()) << word;
  }
}

TEST(ConfineStages, ARootThatIsNotThereIsSaid) {
  const StageRules rules{.sandbox = StageSandbox::kRequired};
  const auto refused = ConfineStages(rules, {"/nowhere at all"});
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().message(), HasSubstr("show /nowhere at all"));
}

TEST(RootsOfView, AreTheDirectoriesByAllTheirNamesAndNoBasesOfObjects) {
  EXPECT_THAT(RootsOfView({"/data/", "s3://bucket/train"}, {"/mnt/real", "s3://bucket/train"}),
              ElementsAre("/mnt/real", "/data"));
  EXPECT_THAT(RootsOfView({}, {}), IsEmpty());
}

// No root at all would show everything.
TEST(RootsOfView, OfBasesOfObjectsAloneHaveNoData) {
  EXPECT_THAT(RootsOfView({"s3://bucket"}, {"s3://bucket"}), ElementsAre("/usr"));
}

}  // namespace
}  // namespace headrace::dataworker
