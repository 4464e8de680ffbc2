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
#include "dataworker/cache/cache_tier.h"
#include "dataworker/cache/sample_store.h"

namespace headrace::dataworker {

// One tier as a user asks for it.
struct CacheTierChoice {
  std::string name;
  GivenSettings settings;

  // Reads "NAME" or "NAME:KEY=VALUE,KEY=VALUE". kInvalidArgument: neither.
  [[nodiscard]] static Result<CacheTierChoice> Parse(std::string_view text);
};

// What a tier's folder says of the tier.
struct CacheTierDescriptor {
  std::string name;
  std::string summary;  // a phrase, for --help
  // Its own settings. Every tier also has kSize, which the registry reads.
  std::vector<Setting> settings;
  // `budget`: the most bytes that the tier takes, with all overhead, for all jobs of the worker.
  std::function<Result<std::unique_ptr<CacheTier>>(std::uint64_t budget, const Settings&)> make;

  static constexpr std::string_view kSize = "size";
  // All settings, kSize first.
  [[nodiscard]] std::vector<Setting> AllSettings() const;
};

// The cache tiers of a build by name. Thread-compatible; immutable once filled.
class CacheRegistry {
 public:
  // REQUIRES: no other of that name; no setting called kSize.
  void Add(CacheTierDescriptor tier);
  // The settings that the choice does not name have their defaults. kNotFound: no tier of that name
  // (the message lists them). kInvalidArgument: a setting that the tier does not have, or a value
  // of another kind. Other errors: those of the tier.
  [[nodiscard]] Result<std::unique_ptr<CacheTier>> Make(const CacheTierChoice& choice) const;
  // Makes the tiers in this order, fastest first, as one store. Errors are those of Make, with the
  // tier's name. kInvalidArgument: none, or two of one name.
  [[nodiscard]] Result<std::unique_ptr<SampleStore>> MakeStore(
      const std::vector<CacheTierChoice>& choices) const;
  // In the order of their names.
  [[nodiscard]] std::vector<const CacheTierDescriptor*> All() const;

 private:
  std::map<std::string, CacheTierDescriptor, std::less<>> tiers_;
};

// All tiers of this build.
[[nodiscard]] const CacheRegistry& BuiltinCacheTiers();

}  // namespace headrace::dataworker
