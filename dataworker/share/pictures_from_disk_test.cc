// Files that are no pictures.
#include "dataworker/share/pictures_from_disk.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

#include "gtest/gtest.h"

namespace headrace::dataworker {
namespace {

class PicturesFromDiskTest : public ::testing::Test {
 protected:
  PicturesFromDiskTest() { std::filesystem::create_directories(folder_); }
  ~PicturesFromDiskTest() override { std::filesystem::remove_all(folder_); }
  std::filesystem::path folder_ =
      std::filesystem::temp_directory_path() / ("headrace-pictures-" + std::to_string(::getpid()));
};

TEST_F(PicturesFromDiskTest, WhatIsNoPictureIsLeftToTheLane) {
  const auto decode = PicturesFromDisk({});
  ASSERT_TRUE(decode);
  const PicturesAhead::Room none = [](std::size_t) -> std::optional<MutableByteSpan> {
    ADD_FAILURE() << "of no picture";
    return std::nullopt;
  };
  const auto what = [&](const std::string& name) {
    return decode(folder_ / name, PicturesAhead::As::kPil, none).what;
  };
  const auto file = [&](const std::string& name, const std::string& content) {
    std::ofstream(folder_ / name) << content;
    std::filesystem::last_write_time(folder_ / name, std::filesystem::file_time_type::clock::now());
  };
  file("text", "no picture");
  file("empty", "");
  file("cut", "\xff\xd8\xff");
  EXPECT_EQ(what("nothing"), PicturesAhead::Decoded::What::kNone);
  EXPECT_EQ(what("text"), PicturesAhead::Decoded::What::kNone);
  EXPECT_EQ(what("empty"), PicturesAhead::Decoded::What::kNone);
  EXPECT_EQ(what("cut"), PicturesAhead::Decoded::What::kNone);
  EXPECT_EQ(what(""), PicturesAhead::Decoded::What::kNone);
}

}  // namespace
}  // namespace headrace::dataworker
