#include "cli/suggest.h"

#include <vector>

#include "gtest/gtest.h"

namespace headrace::cli {
namespace {

const std::vector<std::string> kKnown = {"run",  "coordinator", "worker", "workers",
                                         "jobs", "--cache",     "--cores"};

TEST(Nearest, IsWhatWasMeant) {
  EXPECT_EQ(Nearest("jbos", kKnown), "jobs") << "two in the other order";
  EXPECT_EQ(Nearest("job", kKnown), "jobs");
  EXPECT_EQ(Nearest("cordinator", kKnown), "coordinator");
  EXPECT_EQ(Nearest("coord", kKnown), "coordinator") << "its beginning";
  EXPECT_EQ(Nearest("workres", kKnown), "workers");
  EXPECT_EQ(Nearest("--cahce", kKnown), "--cache");
}

TEST(Nearest, NothingIsGuessedThatIsFarOrOneOfTwo) {
  EXPECT_EQ(Nearest("status", kKnown), "");
  EXPECT_EQ(Nearest("x", kKnown), "");
  EXPECT_EQ(Nearest("", kKnown), "");
  EXPECT_EQ(Nearest("work", kKnown), "") << "worker and workers begin so";
}

}  // namespace
}  // namespace headrace::cli
