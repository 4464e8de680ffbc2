#include "headrace/image_folder.h"

#include <filesystem>
#include <fstream>
#include <string>

#include "gtest/gtest.h"
#include "schemas/wire/message.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

class ImageFolderTest : public testing::Test {
 protected:
  ImageFolderTest() : root_(fs::path(testing::TempDir()) / "image_folder_test") {
    fs::remove_all(root_);
    fs::create_directories(root_);
  }
  ~ImageFolderTest() override { fs::remove_all(root_); }
  void Touch(const std::string& path) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << "x";
  }
  fs::path root_;
};

TEST_F(ImageFolderTest, OrderIsTorchvisions) {
  // torchvision 0.28: ImageFolder(root).samples
  for (const char* path : {"b/2.jpg", "b/10.JPEG", "b/sub/0.png", "b/a.txt", "a/x.webp",
                           "a/sub-2/y.bmp", "a/sub/z.bmp", "a/sub/deep/w.ppm", "file.jpg"}) {
    Touch(path);
  }
  const auto folder = OpenImageFolder(root_.string(), {});
  ASSERT_TRUE(folder.ok()) << folder.status().ToString();
  EXPECT_EQ(folder->classes, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(folder->samples, 7);
  const auto table = wire::FileTableView::Open(folder->blobs.at(folder->plan.leaves[0].table).data);
  ASSERT_TRUE(table.ok());
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;
  for (std::int64_t i = 0; i < table->size(); ++i) {
    paths.push_back(fs::relative(table->Path(i), root_).string());
    labels.push_back(table->Label(i));
  }
  EXPECT_EQ(paths,
            (std::vector<std::string>{"a/x.webp", "a/sub/z.bmp", "a/sub-2/y.bmp",
                                      "a/sub/deep/w.ppm", "b/10.JPEG", "b/2.jpg", "b/sub/0.png"}));
  EXPECT_EQ(labels, (std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1}));
}

TEST_F(ImageFolderTest, EmptyClassIsNamed) {
  Touch("full/0.jpg");
  fs::create_directories(root_ / "hollow");
  const Status status = OpenImageFolder(root_.string(), {}).status();
  EXPECT_EQ(status.code(), Code::kNotFound);
  EXPECT_NE(status.message().find("hollow"), std::string::npos);
}

TEST_F(ImageFolderTest, MissingFolderAndFolderWithoutClasses) {
  EXPECT_EQ(OpenImageFolder((root_ / "none").string(), {}).status().code(), Code::kNotFound);
  EXPECT_EQ(OpenImageFolder(root_.string(), {}).status().code(), Code::kNotFound);
}

}  // namespace
}  // namespace headrace
