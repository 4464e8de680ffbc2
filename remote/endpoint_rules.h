#pragma once

#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "remote/store.h"

namespace headrace::remote {

// An address that leads to this host, to its own network segment, or to a cloud's metadata: where a
// plan of a stranger must not send a request. Loopback, link-local, unspecified, multicast and
// broadcast addresses, those of known metadata services, and IPv6 forms that embed one of them.
[[nodiscard]] bool IsInternalAddress(const sockaddr& address);

// What the operator of this process lets requests do. Others name the endpoints, so:
//
//                                    an endpoint that is named here    AWS    GCS        any other
//   an internal address              yes                               no     no         no
//   without TLS                      yes                               no     no         no
//   signed with our credentials      yes                               yes    its own    no
//
// Keys of GCS begin with "GOOG": those of another cloud, with their tokens, do not go there.
// Immutable; thread-safe.
class EndpointRules {
 public:
  EndpointRules() = default;
  // Each "HOST", "HOST:PORT" or "http[s]://HOST[:PORT]". A host without a port means every port.
  // With addressing "virtual" a bucket's host is below that of its endpoint: ".HOST" names all of
  // those. kInvalidArgument: none of these.
  static Result<EndpointRules> Make(const std::vector<std::string>& allowed);

  [[nodiscard]] bool Names(const ObjectUrl& url) const;
  [[nodiscard]] bool MayReach(const ObjectUrl& url, const sockaddr& address) const {
    return Names(url) || !IsInternalAddress(address);
  }
  [[nodiscard]] bool MayBePlain(const ObjectUrl& url) const { return Names(url); }
  // With the key of this id.
  [[nodiscard]] bool MaySign(const ObjectUrl& url, std::string_view key_id) const;
  // With some key.
  [[nodiscard]] bool MaySign(const ObjectUrl& url) const;

 private:
  std::vector<std::pair<std::string, std::uint16_t>> allowed_;  // port 0: any
};

}  // namespace headrace::remote
