#include <array>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "web/http_server.h"
#include "web/json_text.h"
#include "web/origin.h"

// What a browser may send to the page: five lines, which are Host, Origin, Sec-Fetch-Site, If-None-Match and a
// path. What is taken for the own host's is; and whatever a name is, its text in a frame is JSON.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace web = headrace::web;
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::array<std::string_view, 5> lines;
  for (std::string_view& line : lines) {
    const std::size_t end = rest.find('\n');
    line = rest.substr(0, end);
    rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  }
  const auto& [host, origin, site, tags, path] = lines;
  // A stranger's name has a letter after a dot and is not the one that is listened at.
  if (web::NamesThisHost(host, "head:9470") && host.ends_with(".example")) std::abort();
  if (web::FromOwnPage(origin, site, host)) {
    if (!site.empty() && site != "same-origin") std::abort();
    if (!origin.empty() && (host.empty() || origin.size() < host.size())) std::abort();
    if (origin.find("evil.example") != std::string_view::npos &&
        host.find("evil.example") == std::string_view::npos) {
      std::abort();
    }
  }
  if (web::HasTag(tags, "\"0123456789abcdef\"") &&
      tags.find("\"0123456789abcdef\"") == std::string_view::npos) {
    std::abort();
  }
  if (const auto target = web::ReadTarget(path)) {
    if (target->id < 0 || target->verb.find('/') != std::string_view::npos) std::abort();
  }
  web::HttpRoutes routes;
  for (const char* each : {"/", "/api/status", "/api/jobs/"}) routes[each] = {};
  std::string_view behind;
  const web::HttpRoute* const route = web::FindRoute(routes, path, behind);
  if (route == &routes["/api/jobs/"] && !path.starts_with("/api/jobs/")) std::abort();
  if (route == &routes["/"] && path != "/") std::abort();
  std::string json;
  web::AppendText(json, std::string_view(reinterpret_cast<const char*>(data), size));
  if (!nlohmann::json::accept(json)) std::abort();
  return 0;
}
