#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

// What a browser says of a request, judged. Pure; any bytes may come.
namespace headrace::web {

// Whether `host`, the header, names a server at `listens` ("HOST:PORT") as its own host's people do: localhost,
// an IP address, or the host that it listens at. A page of a stranger's name that leads here (DNS rebinding) does
// not.
[[nodiscard]] bool NamesThisHost(std::string_view host, std::string_view listens);

// Whether the page that asks came from the server that is asked. `origin` and `fetch_site` are the headers;
// empty: not sent, as by programs that are no browsers.
[[nodiscard]] bool FromOwnPage(std::string_view origin, std::string_view fetch_site,
                               std::string_view host);

// "17/drain" is 17 and "drain"; "17/priority/-5" has a value, too; "17" is 17 and "". nullopt: no such form, more
// than 18 digits, or a value that is no int32.
struct Target {
  std::int64_t id = 0;
  std::string_view verb;
  std::optional<std::int32_t> value = {};
};
[[nodiscard]] std::optional<Target> ReadTarget(std::string_view rest);

// Whether one of the tags of If-None-Match is `tag`, which has its quotes.
[[nodiscard]] bool HasTag(std::string_view if_none_match, std::string_view tag);

}  // namespace headrace::web
