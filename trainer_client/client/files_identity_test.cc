#include "trainer_client/client/files_identity.h"

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/hash.h"
#include "gtest/gtest.h"

namespace headrace::client {
namespace {

namespace fs = std::filesystem;

// Files with numbers by their last letters, whatever path leads to them.
std::uint64_t ByName(const std::string& path) {
  return HashBytes(AsBytes(path.substr(path.rfind('/') + 1)));
}
std::uint64_t NoneIsSeen(const std::string&) { return 0; }
std::uint64_t AllAreOther(const std::string& path) { return ByName(path) + 1; }

using Numbers = std::uint64_t (*)(const std::string&);

std::uint64_t IdentityOf(const std::string& root, const std::vector<std::string>& paths,
                         Numbers number_of = ByName) {
  const std::vector<std::int64_t> labels(paths.size());
  const Bytes bytes = wire::EncodeFileTable({root, paths, labels});
  const auto table = wire::FileTableView::Open(bytes);
  EXPECT_TRUE(table.ok());
  return FilesIdentity(*table, number_of);
}

TEST(FilesIdentityTest, TheFolderThatAllBeginWithDoesNotCount) {
  const std::uint64_t identity = IdentityOf("/data", {"a/1.jpg", "a/2.jpg", "b/1.jpg"});
  EXPECT_NE(identity, 0U);
  EXPECT_EQ(IdentityOf("/mnt/other", {"a/1.jpg", "a/2.jpg", "b/1.jpg"}), identity);
  EXPECT_EQ(IdentityOf("", {"/data/a/1.jpg", "/data/a/2.jpg", "/data/b/1.jpg"}), identity);
  EXPECT_EQ(IdentityOf("/", {"data/a/1.jpg", "data/a/2.jpg", "data/b/1.jpg"}), identity);
  // A folder's name is cut at its end only.
  EXPECT_EQ(IdentityOf("", {"/data/xa/1.jpg", "/data/xa/2.jpg", "/data/xb/1.jpg"}),
            IdentityOf("/data", {"xa/1.jpg", "xa/2.jpg", "xb/1.jpg"}));
  EXPECT_NE(IdentityOf("/data", {"xa/1.jpg", "xa/2.jpg", "xb/1.jpg"}), identity);
}

TEST(FilesIdentityTest, NamesOrderAndNumberCount) {
  const std::uint64_t identity = IdentityOf("/data", {"a/1.jpg", "a/2.jpg", "b/1.jpg"});
  EXPECT_NE(IdentityOf("/data", {"a/2.jpg", "a/1.jpg", "b/1.jpg"}), identity);
  EXPECT_NE(IdentityOf("/data", {"a/1.jpg", "a/2.jpg"}), identity);
  EXPECT_NE(IdentityOf("/data", {"a/1.jpg", "a/2.jpg", "c/1.jpg"}), identity);
  EXPECT_NE(IdentityOf("/data", {"a/1.jpga", "/2.jpg", "b/1.jpg"}), identity);
}

// Two data sets often have the same names: 0.jpg, 1.jpg and so on.
TEST(FilesIdentityTest, EqualNamesOfOtherFilesAreOthers) {
  const std::vector<std::string> names = {"0.jpg", "1.jpg", "2.jpg"};
  EXPECT_NE(IdentityOf("/data", names), IdentityOf("/data", names, AllAreOther));
}

TEST(FilesIdentityTest, WhatCantBeSeenHasNone) {
  EXPECT_EQ(IdentityOf("/data", {"a/1.jpg"}, NoneIsSeen), 0U);
  EXPECT_EQ(IdentityOf("/data", {}), 0U);
  EXPECT_EQ(NumberOfFile("/nonexistent/1.jpg"), 0U);
}

TEST(FilesIdentityTest, AFileIsTheSameByALinkAndAnotherOneIsNot) {
  const fs::path folder = fs::path(testing::TempDir()) / "files_identity";
  fs::remove_all(folder);
  fs::create_directories(folder);
  std::ofstream(folder / "a") << "abc";
  std::ofstream(folder / "b") << "abc";
  fs::create_hard_link(folder / "a", folder / "hard");
  fs::create_symlink(folder / "a", folder / "soft");
  const std::uint64_t number = NumberOfFile(folder / "a");
  EXPECT_NE(number, 0U);
  EXPECT_EQ(NumberOfFile(folder / "hard"), number);
  EXPECT_EQ(NumberOfFile(folder / "soft"), number);
  EXPECT_NE(NumberOfFile(folder / "b"), number);
  std::ofstream(folder / "a", std::ios::app) << "d";
  EXPECT_NE(NumberOfFile(folder / "a"), number);
  fs::remove_all(folder);
}

}  // namespace
}  // namespace headrace::client
