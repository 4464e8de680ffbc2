#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dataworker/source/core/source_fixture.h"
#include "schemas/wire/message.h"

// Local sources of five rows each, for the contract of sources.
namespace headrace::dataworker {

inline constexpr std::int64_t kRows = 5;

struct Files {
  TemporaryDirectory directory;
  BlobMap blobs;
  SourceLeaf leaf;
  Files() {
    wire::FileTable table{.root = directory.path(), .paths = {}, .labels = {}};
    for (std::int64_t row = 0; row < kRows; ++row) {
      const std::string name = "sample" + std::to_string(row);
      directory.Write(name, "4 " + std::to_string(row + 1) + "\n" + std::string(100, 'x'));
      table.paths.push_back(name);
      table.labels.push_back(row * 10);
    }
    leaf = {.source = "local_dir",
            .rows = kRows,
            .table = blobs.Add(wire::EncodeFileTable(table)),
            .arrays = {}};
  }
};

struct ImageArrays {
  BlobMap blobs;
  SourceLeaf leaf;
  ImageArrays() {
    Bytes labels(kRows * 8);
    for (std::int64_t row = 0; row < kRows; ++row)
      labels[static_cast<std::size_t>(row) * 8] = static_cast<std::byte>(row * 10);
    leaf = {.source = "arrays",
            .rows = kRows,
            .table = {},
            .arrays = {{.blob = blobs.Add(Bytes(kRows * 4 * 6 * 3)),
                        .dtype = DType::kU8,
                        .row_shape = {4, 6, 3}},
                       {.blob = blobs.Add(labels), .dtype = DType::kI64, .row_shape = {}}}};
  }
};

// The same files, read on io threads.
struct FilesElsewhere : Files {};

// Two files a row.
struct PairsOfFiles {
  TemporaryDirectory directory;
  BlobMap blobs;
  SourceLeaf leaf;
  PairsOfFiles() {
    wire::FileTable table{.root = directory.path(), .paths = {}, .labels = {}};
    for (std::int64_t file = 0; file < 2 * kRows; ++file) {
      const std::string name = "sample" + std::to_string(file);
      directory.Write(name, "4 " + std::to_string(file / 2 + 1) + "\n" + std::string(100, 'x'));
      table.paths.push_back(name);
      table.labels.push_back(file % 2 == 0 ? file / 2 * 10 : -1);
    }
    leaf = {.source = "file_groups",
            .args = {{"files", std::int64_t{2}}},
            .rows = kRows,
            .table = blobs.Add(wire::EncodeFileTable(table)),
            .arrays = {}};
  }
};

// Rows of an array in a file, and labels that came with the plan.
struct RowsOfFiles {
  TemporaryDirectory directory;
  BlobMap blobs;
  SourceLeaf leaf;
  RowsOfFiles() {
    const std::string content = "header" + std::string(kRows * 4 * 6 * 3, 'x');
    directory.Write("a.npy", content);
    Bytes labels(kRows * 8);
    for (std::int64_t row = 0; row < kRows; ++row)
      labels[static_cast<std::size_t>(row) * 8] = static_cast<std::byte>(row * 10);
    leaf = {.source = "array_files",
            .args = {{"path0", directory.path() + "/a.npy"},
                     {"version0", directory.VersionOf("a.npy")},
                     {"place0", std::vector<std::int64_t>{0, 6, 4 * 6 * 3}}},
            .rows = kRows,
            .table = {},
            .arrays = {{.blob = {}, .dtype = DType::kU8, .row_shape = {4, 6, 3}},
                       {.blob = blobs.Add(labels), .dtype = DType::kI64, .row_shape = {}}}};
  }
};

}  // namespace headrace::dataworker
