#include "cli/tenants.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

namespace headrace::cli {
namespace {

using Json = nlohmann::json;

Result<coordinator::Tenant> ReadTenant(const Json& json) {
  if (!json.is_object() || !json.contains("name") || !json["name"].is_string() ||
      json["name"].get<std::string>().empty()) {
    return InvalidArgument("a tenant without a name");
  }
  coordinator::Tenant tenant;
  tenant.name = json["name"].get<std::string>();
  const auto wrong = [&](const std::string& what) {
    return InvalidArgument("tenant " + tenant.name + ": " + what);
  };
  for (const auto& [key, value] : json.items()) {
    if (key == "name") continue;
    double* place = key == "weight"                    ? &tenant.weight
                    : key == "cores"                   ? &tenant.quota.cores
                    : key == "cache_bytes"             ? &tenant.quota.cache_bytes
                    : key == "source_bytes_per_second" ? &tenant.quota.source_rate
                    : key == "trainers"                ? &tenant.quota.gpus
                                                       : nullptr;
    if (!place) {
      return wrong("unknown key " + key +
                   "; there are weight, cores, cache_bytes, source_bytes_per_second, trainers");
    }
    if (!value.is_number() || value.get<double>() < 0) {
      return wrong(key + " must be a number, at least 0");
    }
    *place = value.get<double>();
  }
  if (tenant.weight <= 0) return wrong("weight must be above 0");
  return tenant;
}

}  // namespace

Result<std::vector<coordinator::Tenant>> ParseTenants(std::string_view json) {
  const Json all = Json::parse(json, nullptr, false);
  if (all.is_discarded()) return InvalidArgument("tenants: not JSON");
  if (!all.is_object() || !all.contains("tenants") || !all["tenants"].is_array()) {
    return InvalidArgument("tenants: expected {\"tenants\": [...]}");
  }
  std::vector<coordinator::Tenant> tenants;
  std::set<std::string> names;
  for (const Json& each : all["tenants"]) {
    HR_TRY(coordinator::Tenant tenant, ReadTenant(each));
    if (!names.insert(tenant.name).second) {
      return InvalidArgument("tenant " + tenant.name + " is there twice");
    }
    tenants.push_back(std::move(tenant));
  }
  return tenants;
}

Result<std::map<std::string, double>> ParseDatasetBounds(std::string_view json) {
  std::map<std::string, double> bounds;
  const Json all = Json::parse(json, nullptr, false);
  if (!all.is_object() || !all.contains("datasets")) return bounds;
  if (!all["datasets"].is_object()) {
    return InvalidArgument("datasets: expected {\"NAME\": {\"cache_bytes\": BYTES}, ...}");
  }
  for (const auto& [name, each] : all["datasets"].items()) {
    const auto wrong = [&](const std::string& what) {
      return InvalidArgument("data set " + name + ": " + what);
    };
    if (!each.is_object() || each.size() != 1 || !each.contains("cache_bytes")) {
      return wrong("expected {\"cache_bytes\": BYTES}");
    }
    const Json& bytes = each["cache_bytes"];
    if (!bytes.is_number() || bytes.get<double>() < 0) {
      return wrong("cache_bytes must be a number, at least 0");
    }
    bounds[name] = bytes.get<double>();
  }
  return bounds;
}

Result<TenantsFile> ReadTenants(const std::string& path) {
  std::ifstream file(path);
  if (!file) {
    const int error = errno;
    const std::string message = path + ": " + std::strerror(error);
    return error == ENOENT ? NotFound(message) : Unavailable(message);
  }
  std::ostringstream text;
  text << file.rdbuf();
  auto tenants = ParseTenants(text.str());
  if (!tenants.ok()) return InvalidArgument(path + ": " + tenants.status().message());
  auto bounds = ParseDatasetBounds(text.str());
  if (!bounds.ok()) return InvalidArgument(path + ": " + bounds.status().message());
  return TenantsFile{std::move(tenants).value(), std::move(bounds).value()};
}

}  // namespace headrace::cli
