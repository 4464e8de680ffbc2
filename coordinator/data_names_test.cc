#include "coordinator/data_names.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace::coordinator {
namespace {

SourceLeaf Leaf(const std::string& source, const std::string& base,
                const std::string& endpoint = "") {
  SourceLeaf leaf;
  leaf.source = source;
  if (!base.empty()) leaf.args["base"] = base;
  if (!endpoint.empty()) leaf.args["endpoint"] = endpoint;
  return leaf;
}

TEST(DataNames, ObjectsAndRangesOfThemHaveNamesEverywhere) {
  for (const char* source : {"objects", "object_ranges"}) {
    for (const SourceLeaf& leaf :
         {Leaf(source, "s3://bucket/p"), Leaf(source, "https://data.example.com/p"),
          Leaf(source, "s3://bucket/p", "http://10.0.0.7:9000")}) {
      EXPECT_TRUE(NamesOf({&leaf, 1}).far);
      EXPECT_TRUE(NamesOf({&leaf, 1}).everywhere);
    }
  }
}

TEST(DataNames, AStoreThatEachHostReachesAtItselfHasNot) {
  for (const SourceLeaf& leaf : {Leaf("objects", "s3://bucket/p", "http://LOCALHOST:9000"),
                                 Leaf("objects", "s3://bucket/p", "http://[::1]:9000/"),
                                 Leaf("objects", "http://127.0.0.1/p")}) {
    EXPECT_TRUE(NamesOf({&leaf, 1}).far);
    EXPECT_FALSE(NamesOf({&leaf, 1}).everywhere);
  }
}

TEST(DataNames, OneLeafOfFilesBindsThePlanToItsHosts) {
  const std::vector<SourceLeaf> leaves = {Leaf("objects", "s3://bucket/p"), Leaf("local_dir", "")};
  EXPECT_TRUE(NamesOf(leaves).far);
  EXPECT_FALSE(NamesOf(leaves).everywhere);
  EXPECT_FALSE(NamesOf(std::span(leaves).subspan(1)).far);
  EXPECT_FALSE(NamesOf({}).everywhere);
}

}  // namespace
}  // namespace headrace::coordinator
