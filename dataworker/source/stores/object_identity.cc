#include "dataworker/source/stores/object_identity.h"

#include "base/loopback.h"
#include "base/secret.h"

namespace headrace::dataworker {

ContentIdentity IdentityOfObject(const remote::ObjectUrl& url, const std::string& version) {
  // What nobody finds again is not worth a way to another host.
  if (version.empty()) {
    return ContentIdentity::OfText(url.Name(), MakeToken(), NameReach::kHost);
  }
  return ContentIdentity::OfText(url.Name(), version,
                                 IsOwnHost(url.host) ? NameReach::kHost : NameReach::kEverywhere);
}

}  // namespace headrace::dataworker
