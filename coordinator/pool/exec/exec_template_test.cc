#include "coordinator/pool/exec/exec_template.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace headrace::coordinator {
namespace {

using testing::ElementsAre;

const ExecTemplate::Values kValues = {{"args", {"worker", "--allow-root", "/my data"}},
                                      {"member", {"w.1"}}};

std::vector<std::string> Filled(const char* line) {
  auto parsed = ExecTemplate::Parse(line);
  EXPECT_TRUE(parsed.ok()) << parsed.status().ToString();
  return parsed->Fill(kValues);
}

TEST(ExecTemplate, AWordThatIsAPlaceBecomesAllWords) {
  EXPECT_THAT(Filled("podman run --name {member} IMAGE headrace {args}"),
              ElementsAre("podman", "run", "--name", "w.1", "IMAGE", "headrace", "worker",
                          "--allow-root", "/my data"));
}

TEST(ExecTemplate, InsideOfAWordAValueIsAsAShellReadsIt) {
  EXPECT_THAT(Filled("ssh node 'exec headrace {args}'"),
              ElementsAre("ssh", "node", "exec headrace 'worker' '--allow-root' '/my data'"));
  EXPECT_THAT(Filled("run --name=x-{member}"), ElementsAre("run", "--name=x-w.1"));
}

TEST(ExecTemplate, OtherBracesStayAndValuesAreNotLookedAtAgain) {
  EXPECT_THAT(Filled("run {other} ${HOME} {} { a{b}c {member"),
              ElementsAre("run", "{other}", "${HOME}", "{}", "{", "a{b}c", "{member"));
  const auto once = ExecTemplate::Parse("x{a}y {a}")->Fill({{"a", {"{b}"}}, {"b", {"z"}}});
  EXPECT_THAT(once, ElementsAre("x'{b}'y", "{b}"));
}

TEST(ExecTemplate, KnowsItsPlaces) {
  const auto parsed = ExecTemplate::Parse("sh -c 'headrace {args}'");
  EXPECT_TRUE(parsed->Has("args"));
  EXPECT_FALSE(parsed->Has("member"));
  EXPECT_TRUE(ExecTemplate::Parse("  ")->empty());
  EXPECT_EQ(ExecTemplate::Parse("sh -c 'headrace").status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace headrace::coordinator
