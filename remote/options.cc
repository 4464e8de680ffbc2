#include "remote/options.h"

#include <chrono>
#include <string_view>
#include <utility>

namespace headrace::remote {

Result<ClientOptions> OptionsOfProcess(std::vector<std::string> allowed,
                                       const CredentialPlaces& places) {
  for (const char* name : {"HEADRACE_ALLOW_ENDPOINTS", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL"}) {
    const std::string text = places.variable(name).value_or("");
    std::string_view rest = text;
    while (!rest.empty()) {
      const std::string_view one = rest.substr(0, rest.find(','));
      rest.remove_prefix(std::min(one.size() + 1, rest.size()));
      if (!one.empty()) allowed.emplace_back(one);
    }
  }
  ClientOptions options;
  HR_TRY(options.rules, EndpointRules::Make(allowed));
  options.credentials = places;
  options.ca_file = places.variable("AWS_CA_BUNDLE").value_or("");
  options.seed = static_cast<std::uint64_t>(options.clock->Now().time_since_epoch().count());
  return options;
}

}  // namespace headrace::remote
