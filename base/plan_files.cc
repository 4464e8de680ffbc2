#include "base/plan_files.h"

#include <string>

namespace headrace {

Status CheckFiles(std::span<const SourceLeaf> leaves, int files) {
  for (const SourceLeaf& leaf : leaves) {
    HR_TRY(const int has, FilesOf(leaf));
    if (has == files) continue;
    return InvalidArgument("a row of a source has " + std::to_string(has) +
                           " files, and the nodes take " + std::to_string(files));
  }
  return {};
}

}  // namespace headrace
