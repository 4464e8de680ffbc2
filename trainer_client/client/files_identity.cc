#include "trainer_client/client/files_identity.h"

#include <sys/stat.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/hash.h"

namespace headrace::client {
namespace {

constexpr std::int64_t kLooks = 16;

std::uint64_t Mix(std::uint64_t sum, std::uint64_t value) { return MixBits(sum + MixBits(value)); }

// How long the folders are that all paths begin with, with the last slash.
std::size_t CommonFolders(const wire::FileTableView& table) {
  const std::string_view first = table.Entry(0);
  std::size_t common = first.rfind('/') + 1;  // 0: it is in no folder
  for (std::int64_t row = 1; row < table.size() && common > 0; ++row) {
    const std::string_view path = table.Entry(row);
    if (path.starts_with(first.substr(0, common))) continue;
    const auto differs = std::ranges::mismatch(first.substr(0, common), path).in1;
    common = static_cast<std::size_t>(differs - first.begin());
    while (common > 0 && first[common - 1] != '/') --common;
  }
  return common;
}

}  // namespace

std::uint64_t NumberOfFile(const std::string& path) {
  struct stat st;
  if (::stat(path.c_str(), &st) != 0) return 0;
  // Not the device, whose number may be another one after a restart: a pin would be lost then.
  return std::max<std::uint64_t>(1, Mix(st.st_ino, static_cast<std::uint64_t>(st.st_size)));
}

std::uint64_t FilesIdentity(const wire::FileTableView& table,
                            std::uint64_t (*number_of)(const std::string& path)) {
  const std::int64_t rows = table.size();
  if (rows == 0) return 0;
  std::uint64_t sum = Mix(0, static_cast<std::uint64_t>(rows));
  const std::int64_t looks = std::min(rows, kLooks);
  for (std::int64_t look = 0; look < looks; ++look) {
    const std::int64_t row = looks == 1 ? 0 : look * (rows - 1) / (looks - 1);
    const std::uint64_t number = number_of(table.Path(row));
    if (number == 0) return 0;
    sum = Mix(sum, number);
  }
  const std::size_t common = CommonFolders(table);
  for (std::int64_t row = 0; row < rows; ++row) {
    sum = HashBytes(AsBytes(table.Entry(row).substr(common)), sum);
  }
  return std::max<std::uint64_t>(1, sum);
}

}  // namespace headrace::client
