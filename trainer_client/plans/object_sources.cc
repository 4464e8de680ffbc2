#include <algorithm>
#include <limits>
#include <string_view>
#include <utility>

#include "headrace/plan_source.h"
#include "schemas/wire/message.h"
#include "trainer_client/plans/plan_blobs.h"

namespace headrace {
namespace {

// The arguments of a source of objects, as dataworker/source/stores reads them.
Result<Args> ArgsOf(const StoreOptions& store) {
  const std::string& base = store.base;
  constexpr std::string_view kSchemes[] = {"s3://", "gs://", "https://", "http://"};
  const bool known = std::ranges::any_of(kSchemes, [&](std::string_view scheme) {
    return base.starts_with(scheme) && base.size() > scheme.size();
  });
  if (!known) {
    return InvalidArgument("base is '" + base +
                           "', and may begin with s3://, gs://, https:// or http://");
  }
  constexpr std::int64_t kMost = std::numeric_limits<std::int32_t>::max();
  if (store.remember_seconds < 0 || store.remember_seconds > kMost) {
    return InvalidArgument("remember_seconds is " + std::to_string(store.remember_seconds) +
                           ", and may be 0.." + std::to_string(kMost));
  }
  if (!store.addressing.empty() && store.addressing != "path" && store.addressing != "virtual") {
    return InvalidArgument("addressing is '" + store.addressing + "', and may be path or virtual");
  }
  Args args{{"base", base.ends_with('/') ? base : base + "/"},
            {"valid_seconds", store.remember_seconds}};
  if (!store.endpoint.empty()) args["endpoint"] = store.endpoint;
  if (!store.region.empty()) args["region"] = store.region;
  if (!store.addressing.empty()) args["addressing"] = store.addressing;
  if (store.anonymous) args["anonymous"] = std::int64_t{1};
  return args;
}

}  // namespace

Result<PlanSource> ObjectsSource(const StoreOptions& store, const std::vector<std::string>& names,
                                 const std::vector<std::int64_t>& labels) {
  HR_TRY(Args args, ArgsOf(store));
  if (names.empty()) return InvalidArgument("a source of no samples");
  if (names.size() != labels.size()) {
    return InvalidArgument(std::to_string(labels.size()) + " labels of " +
                           std::to_string(names.size()) + " objects");
  }
  std::size_t bytes = 0;
  for (const std::string& name : names) bytes += name.size();
  if (!wire::FileTableFits(names.size(), bytes)) {
    return InvalidArgument("the names are 2 GiB or more: JoinSources joins several sources");
  }
  PlanSource source;
  const std::string base = std::get<std::string>(args.at("base"));
  source.name = "Objects(" + base + ")";
  SourceLeaf& leaf = source.leaves.emplace_back();
  leaf.source = "objects";
  leaf.rows = static_cast<std::int64_t>(names.size());
  leaf.args = std::move(args);
  leaf.table = client::AddBlob(wire::EncodeFileTable({base, names, labels}), source.blobs);
  return source;
}

}  // namespace headrace
