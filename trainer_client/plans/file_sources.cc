#include <algorithm>
#include <cctype>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

#include "base/file_group.h"
#include "headrace/plan_source.h"
#include "schemas/wire/message.h"
#include "trainer_client/plans/plan_blobs.h"

namespace headrace {
namespace {

namespace fs = std::filesystem;

// Source: torchvision/datasets/folder.py, IMG_EXTENSIONS.
constexpr std::string_view kExtensions[] = {".jpg", ".jpeg", ".png",  ".ppm", ".bmp",
                                            ".pgm", ".tif",  ".tiff", ".webp"};

bool IsImage(const std::string& name) {
  std::string lower = name;
  std::ranges::transform(lower, lower.begin(), [](unsigned char c) { return std::tolower(c); });
  return std::ranges::any_of(kExtensions, [&](auto end) { return lower.ends_with(end); });
}

std::string Text(const fs::path& path) { return path.string(); }

// Walks as sorted(os.walk(folder, followlinks=True)): folders by their path, files by name in each.
Status FindImages(const std::string& root, const std::string& class_name, std::int64_t label,
                  wire::FileTable& table) {
  std::error_code error;
  std::vector<std::pair<std::string, std::vector<std::string>>> folders;
  std::vector<std::string> todo{class_name};
  while (!todo.empty()) {
    const std::string folder = std::move(todo.back());
    todo.pop_back();
    auto& [path, files] = folders.emplace_back(folder, std::vector<std::string>());
    for (fs::directory_iterator it(root + "/" + folder, error), end; !error && it != end;
         it.increment(error)) {
      const std::string name = Text(it->path().filename());
      std::error_code unreadable;
      if (it->is_directory(unreadable)) {
        todo.push_back(folder + "/" + name);
      } else if (IsImage(name)) {
        files.push_back(name);
      }
    }
    if (error) return ErrnoStatus(error.value(), root + "/" + folder);
  }
  std::ranges::sort(folders);
  const std::size_t before = table.paths.size();
  for (auto& [folder, files] : folders) {
    std::ranges::sort(files);
    for (const std::string& file : files) {
      table.paths.push_back(folder + "/" + file);
      table.labels.push_back(label);
    }
  }
  if (table.paths.size() == before) {
    return NotFound("no image for class " + class_name + " in " + root);
  }
  return Status::Ok();
}

// A table of encoded files as the only leaf. REQUIRES: there is a path.
Result<PlanSource> OfTable(std::string name, const wire::FileTable& table) {
  std::size_t bytes = 0;
  for (const std::string& path : table.paths) bytes += path.size();
  if (!wire::FileTableFits(table.paths.size(), bytes)) {
    return InvalidArgument("the paths are 2 GiB or more: JoinSources joins several sources");
  }
  PlanSource source;
  source.name = std::move(name);
  SourceLeaf& leaf = source.leaves.emplace_back();
  leaf.rows = static_cast<std::int64_t>(table.paths.size());
  leaf.table = client::AddBlob(wire::EncodeFileTable(table), source.blobs);
  return source;
}

Status CheckLabels(std::size_t rows, const std::vector<std::int64_t>& labels) {
  if (rows == 0) return InvalidArgument("a source of no samples");
  if (rows == labels.size()) return {};
  return InvalidArgument(std::to_string(labels.size()) + " labels of " + std::to_string(rows) +
                         " samples");
}

Result<std::string> Absolute(const std::string& root) {
  std::error_code error;
  const std::string absolute = Text(fs::absolute(root, error));
  if (error) return ErrnoStatus(error.value(), root);
  return absolute;
}

}  // namespace

Result<PlanSource> FilesSource(const std::string& root, const std::vector<std::string>& paths,
                               const std::vector<std::int64_t>& labels) {
  HR_RETURN_IF_ERROR(CheckLabels(paths.size(), labels));
  HR_TRY(std::string absolute, Absolute(root));
  return OfTable("Files(" + absolute + ")", {absolute, paths, labels});
}

Result<PlanSource> FileGroupsSource(const std::string& root,
                                    const std::vector<std::vector<std::string>>& rows,
                                    const std::vector<std::int64_t>& labels) {
  HR_RETURN_IF_ERROR(CheckLabels(rows.size(), labels));
  const std::size_t files = rows.front().size();
  if (files < 2 || files > FileGroup::kMost) {
    return InvalidArgument("rows of " + std::to_string(files) + " files, and may be of 2.." +
                           std::to_string(FileGroup::kMost));
  }
  wire::FileTable table;
  HR_TRY(table.root, Absolute(root));
  for (std::size_t row = 0; row < rows.size(); ++row) {
    if (rows[row].size() != files) {
      return InvalidArgument("row " + std::to_string(row) + " has " +
                             std::to_string(rows[row].size()) + " files, and row 0 has " +
                             std::to_string(files));
    }
    table.paths.insert(table.paths.end(), rows[row].begin(), rows[row].end());
    table.labels.insert(table.labels.end(), files, labels[row]);
  }
  HR_TRY(PlanSource source, OfTable("Files(" + table.root + ")", table));
  SourceLeaf& leaf = source.leaves.front();
  leaf.source = "file_groups";
  leaf.rows = static_cast<std::int64_t>(rows.size());
  leaf.args["files"] = static_cast<std::int64_t>(files);
  return source;
}

Result<PlanSource> ImageFolderSource(const std::string& root) {
  std::vector<std::string> classes;
  wire::FileTable table;
  HR_TRY(table.root, Absolute(root));
  std::error_code error;
  for (fs::directory_iterator it(table.root, error), end; !error && it != end;
       it.increment(error)) {
    std::error_code unreadable;
    if (it->is_directory(unreadable)) classes.push_back(Text(it->path().filename()));
  }
  if (error) return ErrnoStatus(error.value(), table.root);
  if (classes.empty()) return NotFound("no class folder in " + table.root);
  std::ranges::sort(classes);
  for (std::size_t i = 0; i < classes.size(); ++i) {
    HR_RETURN_IF_ERROR(FindImages(table.root, classes[i], static_cast<std::int64_t>(i), table));
  }
  HR_TRY(PlanSource source, OfTable("ImageFolder(" + table.root + ")", table));
  source.classes = std::move(classes);
  return source;
}

}  // namespace headrace
