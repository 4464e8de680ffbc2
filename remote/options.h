#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/clock.h"
#include "remote/credentials.h"
#include "remote/endpoint_rules.h"
#include "remote/retry.h"

namespace headrace::remote {

// How long a request may take.
struct RequestLimits {
  Duration connect = std::chrono::seconds(5);
  // For so long fewer than so many bytes a second: it is too slow.
  Duration slow = std::chrono::seconds(20);
  long slow_bytes = 1024;
  Duration whole = std::chrono::seconds(300);  // tries and all
};

// Of an ObjectClient.
struct ClientOptions {
  EndpointRules rules = {};
  CredentialPlaces credentials = CredentialPlaces::OfProcess();
  RetryRules retry = {};
  RequestLimits limits = {};
  std::uint64_t part_bytes = std::uint64_t{8} << 20;  // larger objects are read in parts
  std::size_t host_requests = 256;                    // at the same time, to one host
  std::string ca_file;                                // of certificates; empty: the system's
  std::uint64_t seed = 0;                             // of the pauses
  Clock* clock = &Clock::Real();                      // outlives the client
};

// The options of a process, by its operator's word. Endpoints are allowed that are in `allowed`, in
// HEADRACE_ALLOW_ENDPOINTS (separated by commas), and that AWS_ENDPOINT_URL_S3 and AWS_ENDPOINT_URL
// name. AWS_CA_BUNDLE is a file of certificates. kInvalidArgument: what is no endpoint.
[[nodiscard]] Result<ClientOptions> OptionsOfProcess(
    std::vector<std::string> allowed,
    const CredentialPlaces& places = CredentialPlaces::OfProcess());

}  // namespace headrace::remote
