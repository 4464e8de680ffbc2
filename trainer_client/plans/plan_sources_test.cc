#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "headrace/plan_source.h"
#include "schemas/wire/message.h"
#include "schemas/wire/range_table.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Ints = std::vector<std::int64_t>;

class PlanSources : public testing::Test {
 protected:
  PlanSources() : root_(fs::path(testing::TempDir()) / "plan_sources_test") {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~PlanSources() override { fs::remove_all(root_); }
  std::string Write(const std::string& name, const std::string& content) {
    std::ofstream(root_ / name, std::ios::binary) << content;
    return (root_ / name).string();
  }
  fs::path root_;
};

template <typename T>
void ExpectRefused(const Result<T>& result, Code code, const std::string& says) {
  EXPECT_EQ(result.status().code(), code) << result.status().ToString();
  EXPECT_THAT(result.status().message(), HasSubstr(says));
}

TEST_F(PlanSources, FilesHaveLabels) {
  const auto source = FilesSource("/data", {"a.jpg", "/b.jpg"}, {5, -1});
  ASSERT_TRUE(source.ok());
  const auto table = wire::FileTableView::Open(source->blobs.at(source->leaves[0].table).data);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->Path(0), "/data/a.jpg");
  EXPECT_EQ(table->Path(1), "/b.jpg");
  EXPECT_EQ(table->Label(1), -1);
  ExpectRefused(FilesSource("/data", {}, {}), Code::kInvalidArgument, "no samples");
  ExpectRefused(FilesSource("/data", {"a"}, {}), Code::kInvalidArgument, "0 labels of 1 samples");
}

TEST_F(PlanSources, GroupsHaveRowsOfOneLength) {
  const auto source = FileGroupsSource("/data", {{"a", "b"}, {"c", "d"}}, {1, 2});
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->samples(), 2);
  EXPECT_EQ(source->leaves[0].args.at("files"), ArgValue(std::int64_t{2}));
  ExpectRefused(FileGroupsSource("/data", {{"a", "b"}, {"c"}}, {1, 2}), Code::kInvalidArgument,
                "row 1 has 1 files, and row 0 has 2");
  ExpectRefused(FileGroupsSource("/data", {{"a"}}, {1}), Code::kInvalidArgument, "may be of 2..16");
}

TEST_F(PlanSources, RangesKnowTheirFiles) {
  const std::string path = Write("shard", std::string(100, 'x'));
  const auto source = FileRangesSource({{path, "", {0, 50}, {50, 50}, {1, 2}}});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  EXPECT_EQ(source->leaves[0].source, "file_ranges");
  const auto table = wire::RangeTableView::Open(source->blobs.at(source->leaves[0].table).data);
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(table->At(1), (wire::RangeTableView::Range{0, 50, 50}));
  EXPECT_THAT(std::string(table->Version(0)), testing::StartsWith("100-"));
  ExpectRefused(FileRangesSource({{path, "", {0}, {50, 50}, {1}}}), Code::kInvalidArgument,
                "as many firsts");
  ExpectRefused(FileRangesSource({{path + "2", "", {0}, {50}, {1}}}), Code::kNotFound, "shard2");
  ExpectRefused(FileRangesSource({{root_.string(), "", {0}, {50}, {1}}}), Code::kInvalidArgument,
                "no regular file");
}

TEST_F(PlanSources, TarsThatAreNoneAreRefused) {
  ExpectRefused(TarSource({Write("a.tar", std::string(2048, 'x'))}, {}), Code::kDataLoss, "a.tar");
  ExpectRefused(TarSource({Write("b.tar", std::string(2048, '\0'))}, {}), Code::kNotFound,
                "no sample");
  ExpectRefused(TarSource({}, {}), Code::kNotFound, "no sample");
  ExpectRefused(TarSource({(root_ / "none.tar").string()}, {}), Code::kNotFound, "none.tar");
  ExpectRefused(ZipSource({Write("a.zip", "no zip")}, {}), Code::kDataLoss, "a.zip");
}

TEST_F(PlanSources, ObjectsSayTheirStore) {
  StoreOptions store;
  store.base = "s3://bucket/train";
  store.region = "eu-north-1";
  store.anonymous = true;
  const auto source = ObjectsSource(store, {"a.jpg", "b.jpg"}, {0, 1});
  ASSERT_TRUE(source.ok());
  EXPECT_EQ(source->leaves[0].args, (Args{{"base", std::string("s3://bucket/train/")},
                                          {"region", std::string("eu-north-1")},
                                          {"anonymous", std::int64_t{1}},
                                          {"valid_seconds", std::int64_t{0}}}));
  const auto ranges =
      ObjectRangesSource(store, {{"s3://bucket/train/0.tar", "etag", {512}, {9}, {3}}});
  ASSERT_TRUE(ranges.ok()) << ranges.status().ToString();
  EXPECT_EQ(ranges->leaves[0].source, "object_ranges");
  EXPECT_EQ(ranges->leaves[0].args.at("region"), ArgValue(std::string("eu-north-1")));
  EXPECT_EQ(ranges->blobs.size(), 1U);
  store.base = "bucket";
  ExpectRefused(ObjectsSource(store, {"a"}, {0}), Code::kInvalidArgument, "may begin with s3://");
  store.base = "s3://bucket";
  store.remember_seconds = -1;
  ExpectRefused(ObjectsSource(store, {"a"}, {0}), Code::kInvalidArgument, "may be 0..2147483647");
  store.remember_seconds = 0;
  store.addressing = "any";
  ExpectRefused(ObjectsSource(store, {"a"}, {0}), Code::kInvalidArgument, "path or virtual");
}

TEST_F(PlanSources, ArraysHaveTheirRows) {
  const Bytes data(24);
  EXPECT_TRUE(ArraysSource(2, {{DType::kF32, {3}, {data, nullptr}}}).ok());
  ExpectRefused(ArraysSource(3, {{DType::kF32, {3}, {data, nullptr}}}), Code::kInvalidArgument,
                "column 0: not 3 rows");
  ExpectRefused(ArraysSource(2, {{DType::kF32, {-3}, {data, nullptr}}}), Code::kInvalidArgument,
                "column 0");
  ExpectRefused(ArraysSource(2, {{static_cast<DType>(99), {3}, {data, nullptr}}}),
                Code::kInvalidArgument, "column 0");
  ExpectRefused(ArraysSource(2, {{DType::kU8, Ints(9, 1 << 30), {data, nullptr}}}),
                Code::kInvalidArgument, "column 0");
  ExpectRefused(ArraysSource(0, {{DType::kF32, {3}, {}}}), Code::kInvalidArgument, "no samples");
  ExpectRefused(ArraysSource(1, {}), Code::kInvalidArgument, "0 columns");
}

TEST_F(PlanSources, NpyFilesAreColumns) {
  const std::string fields = "{'descr': '<u2', 'fortran_order': False, 'shape': (5, 2), }";
  const std::string path =
      Write("a.npy", std::string("\x93NUMPY\x01\x00", 8) + static_cast<char>(fields.size()) + '\0' +
                         fields + std::string(20, '\1'));
  const auto rows = NpyColumn(path);
  ASSERT_TRUE(rows.ok()) << rows.status().ToString();
  EXPECT_EQ(rows->rows, 5);
  EXPECT_EQ(rows->column.dtype, DType::kI64);
  EXPECT_EQ(rows->column.elements, "<u2");
  EXPECT_EQ(rows->column.stride, 4);
  const auto source = ArrayFilesSource(5, {rows->column, rows->column});
  ASSERT_TRUE(source.ok()) << source.status().ToString();
  const Args& args = source->leaves[0].args;
  EXPECT_EQ(args.at("place1"), ArgValue(Ints{0, rows->column.first, 4}));
  EXPECT_EQ(args.at("elements0"), ArgValue(std::string("<u2")));
  EXPECT_FALSE(args.contains("path1"));
  // Windows that overlap, up to the file's last byte.
  FileColumn windows = rows->column;
  windows.stride = 2;
  EXPECT_TRUE(ArrayFilesSource(9, {windows}).ok());
  ExpectRefused(ArrayFilesSource(10, {windows}), Code::kInvalidArgument, "rows reach beyond");
  windows.stride = -(std::int64_t{1} << 62);
  ExpectRefused(ArrayFilesSource(9, {windows}), Code::kInvalidArgument, "rows reach beyond");
  windows.elements = "<f2";
  ExpectRefused(ArrayFilesSource(1, {windows}), Code::kInvalidArgument, "do not become");
  windows.elements = "float";
  ExpectRefused(ArrayFilesSource(1, {windows}), Code::kInvalidArgument, "no type of NumPy's");
  ExpectRefused(NpyColumn(Write("b.npy", "no array")), Code::kDataLoss, "b.npy");
}

TEST_F(PlanSources, JoinedSourcesAreOneAfterTheOther) {
  const auto of = [](const std::string& root) {
    return std::move(FilesSource(root, {"a.jpg"}, {0})).value();
  };
  const auto joined = JoinSources({of("/x"), of("/y")});
  ASSERT_TRUE(joined.ok());
  EXPECT_EQ(joined->samples(), 2);
  EXPECT_EQ(joined->blobs.size(), 2U);
  static const Bytes data(8);
  PlanSource arrays = std::move(ArraysSource(8, {{DType::kU8, {}, {data, nullptr}}})).value();
  ExpectRefused(JoinSources({of("/x"), arrays}), Code::kInvalidArgument,
                "source 1 has another kind of samples");
  ExpectRefused(JoinSources({}), Code::kInvalidArgument, "no samples");
}

}  // namespace
}  // namespace headrace
