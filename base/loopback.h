#pragma once

#include <string_view>

namespace headrace {

// Says whether a host of a URL leads each host to itself or to its own network segment: "localhost" and
// names below it, loopback, link-local and unspecified addresses, in each way in which a resolver takes
// them. `host`: a name or an address, in small letters, without the brackets of an IPv6 address. Other
// names are not resolved. Pure.
[[nodiscard]] bool IsOwnHost(std::string_view host);

}  // namespace headrace
