#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/settings.h"
#include "dataworker/cache/cache.h"

namespace headrace::dataworker {

// What a tier's folder says of it.
struct CacheTier {
  std::string name;
  std::string summary;  // a phrase, for --help
  std::vector<Setting> settings;
  // `budget`: the most bytes that the tier takes, with all overhead, for all jobs of the worker.
  std::function<Result<std::unique_ptr<SampleCache>>(std::uint64_t budget, const Settings&)> make;
};

// The cache tiers of this build by name. Thread-compatible; immutable once filled.
class CacheRegistry {
 public:
  // REQUIRES: no other of that name.
  void Add(CacheTier tier);
  // `given`: settings as the user wrote them; the others have their defaults. kNotFound: no tier of
  // that name (message lists them). kInvalidArgument: a setting that it does not have, or a value
  // of another kind. Other errors: those of the tier.
  [[nodiscard]] Result<std::unique_ptr<SampleCache>> Make(std::string_view name,
                                                          std::uint64_t budget,
                                                          const GivenSettings& given) const;
  // In the order of their names.
  [[nodiscard]] std::vector<const CacheTier*> All() const;

 private:
  std::map<std::string, CacheTier, std::less<>> tiers_;
};

// All tiers of this build.
[[nodiscard]] const CacheRegistry& BuiltinCacheTiers();

}  // namespace headrace::dataworker
