#include "dataworker/source/stores/store_args.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <utility>
#include <vector>

namespace headrace::dataworker {
namespace {

constexpr std::int64_t kMostSeconds = 366LL * 24 * 3600;

struct Said {
  remote::StoreSpec store;
  Duration valid_for{};
};

Result<Said> ReadArgs(const SourceLeaf& leaf) {
  Said said;
  for (const auto& [name, value] : leaf.args) {
    const auto* const text = std::get_if<std::string>(&value);
    const auto* const number = std::get_if<std::int64_t>(&value);
    if (name == "base" && text != nullptr) {
      said.store.base = *text;
    } else if (name == "endpoint" && text != nullptr) {
      said.store.endpoint = *text;
    } else if (name == "region" && text != nullptr) {
      said.store.region = *text;
    } else if (name == "addressing" && text != nullptr) {
      said.store.addressing = *text;
    } else if (name == "anonymous" && number != nullptr) {
      said.store.anonymous = *number != 0;
    } else if (name == "valid_seconds" && number != nullptr) {
      said.valid_for = std::chrono::seconds(std::clamp<std::int64_t>(*number, 0, kMostSeconds));
    } else {
      return InvalidArgument("the source '" + leaf.source + "' has no such argument '" + name +
                             "'");
    }
  }
  return said;
}

}  // namespace

bool IsBelowRoots(const std::string& name, const std::vector<std::string>& roots) {
  if (roots.empty()) return true;
  return std::ranges::any_of(roots, [&](const std::string& root) {
    return root.find("://") != std::string::npos &&
           name.starts_with(root.ends_with('/') ? root : root + "/");
  });
}

Result<StoreArgs> OpenStore(const SourceLeaf& leaf,
                            const SourceRegistry::Environment& environment) {
  if (environment.objects == nullptr) return Unsupported("this worker reads no objects");
  HR_TRY(const Said said, ReadArgs(leaf));
  HR_TRY(remote::Store store, remote::Store::Make(said.store));
  if (!IsBelowRoots(store.base(), environment.allowed_roots)) {
    return Unsupported(store.base() + " lies below none of the places that the worker may read");
  }
  return StoreArgs{std::move(store), said.valid_for};
}

}  // namespace headrace::dataworker
