#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include "gtest/gtest.h"
#include "ops/core/op_registry.h"

// Checks all operators: each must have both halves, tests and documentation.
namespace headrace::ops {
namespace {

namespace fs = std::filesystem;

fs::path Root() { return HEADRACE_SOURCE_DIR; }

std::string ReadText(const fs::path& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(Registry, EverySchemaHasAKernelAndTheOtherWayRound) {
  const std::set<std::string> gates{"random_apply", "random_choice",
                                    "random_order"};  // they have no pixels
  for (const auto& [name, entry] : SchemaRegistry::Builtin().entries()) {
    if (gates.contains(name)) continue;
    EXPECT_NE(KernelRegistry::Builtin().Find(name), nullptr) << name;
  }
  EXPECT_EQ(KernelRegistry::Builtin().Find("no_such_operator"), nullptr);
}

TEST(Registry, EveryOperatorAndArgumentIsDescribed) {
  for (const auto& [name, entry] : SchemaRegistry::Builtin().entries()) {
    EXPECT_GT(entry.spec.doc.size(), 15U) << name;
    EXPECT_FALSE(entry.spec.classes.empty()) << name;
    std::set<std::string> seen;
    for (const ArgSpec& arg : entry.spec.args) {
      EXPECT_FALSE(arg.doc.empty()) << name << "." << arg.name;
      EXPECT_TRUE(seen.insert(arg.name).second) << name << "." << arg.name << " twice";
    }
  }
}

TEST(Registry, EveryOperatorIsTestedInCppAndAgainstTheFramework) {
  std::string python;
  for (const auto& file : fs::directory_iterator(Root() / "tests/python/ops")) {
    if (file.path().extension() == ".py") python += ReadText(file.path());
  }
  for (const auto& [name, entry] : SchemaRegistry::Builtin().entries()) {
    EXPECT_TRUE(fs::exists(Root() / "ops" / name / (name + "_test.cc"))) << name;
    EXPECT_NE(python.find("\"" + name + "\""), std::string::npos)
        << name << " is not compared with torchvision in tests/python/ops";
  }
}

// The page is generated: run this test with HEADRACE_UPDATE_DOCS=1 to write it.
TEST(Registry, ReferencePageIsUpToDate) {
  std::ostringstream page;
  page << "# Native operators\n\nGenerated from the operators' descriptions; see "
          "[how to add one](../howto/add-operator.md). `headrace operators --json` says the "
          "same.\n\n"
          "A range is that of each value of a list. What is outside of it is refused. Two steps of "
          "a "
          "plan are no operators: `stack` makes one tensor of several values, and `squeeze` drops "
          "the "
          "first dimension of a tensor of one channel.\n";
  for (const auto& [name, entry] : SchemaRegistry::Builtin().entries()) {
    page << "\n" << Describe(entry.spec);
  }
  const fs::path path = Root() / "docs/reference/operators.md";
  if (std::getenv("HEADRACE_UPDATE_DOCS") != nullptr) {
    fs::create_directories(path.parent_path());
    std::ofstream(path) << page.str();
  }
  EXPECT_EQ(ReadText(path), page.str());
}

}  // namespace
}  // namespace headrace::ops
