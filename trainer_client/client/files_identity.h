#pragma once

#include <cstdint>

#include "schemas/wire/message.h"

namespace headrace::client {

// The number of a file for FilesIdentity: by inode and size; 0: it can't be seen.
[[nodiscard]] std::uint64_t NumberOfFile(const std::string& path);

// Names the files of a table whatever path leads to them: by a link, by hard links in another folder, by
// another mount of the same file system. It is equal if they are as many, if their paths are equal after
// the folders that all of them begin with, and if 16 of them, evenly chosen, are the same files
// (`number_of`). 0: not known, since one of these can't be seen here.
//
// It is for accounts alone: data sets with one identity share their quotas. What a cache keeps of a file is
// named by that file. O(size of the table), and 16 questions to the file system.
[[nodiscard]] std::uint64_t FilesIdentity(
    const wire::FileTableView& table,
    std::uint64_t (*number_of)(const std::string& path) = NumberOfFile);

}  // namespace headrace::client
