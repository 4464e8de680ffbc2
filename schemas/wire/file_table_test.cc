#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "schemas/wire/message.h"

namespace headrace::wire {
namespace {

using ::testing::HasSubstr;

TEST(FileTable, PackedPathsMakeTheSameTable) {
  const FileTable table{.root = "s3://b/p/", .paths = {"a/1", "", "b/22"}, .labels = {3, -1, 7}};
  const std::uint32_t ends[] = {3, 3, 7};
  const Bytes packed =
      EncodeFileTable(table.root, {.pool = "a/1b/22", .ends = ends, .labels = table.labels});
  const Result<FileTableView> view = FileTableView::Open(packed);
  const Bytes usual = EncodeFileTable(table);
  const Result<FileTableView> same = FileTableView::Open(usual);
  ASSERT_TRUE(view.ok() && same.ok());
  ASSERT_EQ(view->size(), 3);
  for (std::int64_t row = 0; row < 3; ++row) {
    EXPECT_EQ(view->Path(row), same->Path(row));
    EXPECT_EQ(view->Label(row), same->Label(row));
  }
  EXPECT_EQ(view->Path(2), "s3://b/p/b/22");
}

TEST(FileTable, PathsAndLabelsComeBack) {
  const FileTable table{.root = "/data/train",
                        .paths = {"a/1.jpg", "", "/else/2.jpg", "b/\xff.jpg"},
                        .labels = {0, -1, 7, 1LL << 40}};
  const Bytes bytes = EncodeFileTable(table);
  const Result<FileTableView> view = FileTableView::Open(bytes);
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  ASSERT_EQ(view->size(), 4);
  EXPECT_EQ(view->Path(0), "/data/train/a/1.jpg");
  EXPECT_EQ(view->Path(1), "/data/train/");
  EXPECT_EQ(view->Path(2), "/else/2.jpg");
  EXPECT_EQ(view->Path(3), "/data/train/b/\xff.jpg");
  for (int i = 0; i < 4; ++i) EXPECT_EQ(view->Label(i), table.labels[static_cast<std::size_t>(i)]);
}

TEST(FileTable, EmptyTableAndNoRoot) {
  EXPECT_EQ(FileTableView::Open(EncodeFileTable({}))->size(), 0);
  const Bytes bytes = EncodeFileTable({.root = "", .paths = {"a"}, .labels = {1}});
  EXPECT_EQ(FileTableView::Open(bytes)->Path(0), "a");
}

TEST(FileTable, DamageNeverReadsOutside) {
  const FileTable table{
      .root = "/r", .paths = {"first.jpg", "second.jpg", "third.jpg"}, .labels = {1, 2, 3}};
  const Bytes good = EncodeFileTable(table);
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const unsigned flip : {0x01u, 0x80u, 0xffu}) {
      Bytes bad = good;
      bad[i] ^= static_cast<std::byte>(flip);
      const Result<FileTableView> view = FileTableView::Open(bad);
      if (!view.ok()) continue;
      for (std::int64_t row = 0; row < view->size(); ++row) {
        EXPECT_LE(view->Path(row).size(), good.size());
        (void)view->Label(row);
      }
    }
  }
  for (std::size_t size = 0; size < good.size(); ++size) {
    const Bytes cut(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_EQ(FileTableView::Open(cut).status().code(), Code::kInvalidArgument) << size;
  }
}

TEST(FileTable, OddAddressIsRefused) {
  Bytes bytes = EncodeFileTable({});
  bytes.insert(bytes.begin(), std::byte{0});
  EXPECT_THAT(FileTableView::Open(ByteSpan(bytes).subspan(1)).status().message(),
              HasSubstr("odd address"));
}

}  // namespace
}  // namespace headrace::wire
