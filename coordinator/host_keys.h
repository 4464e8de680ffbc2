#pragma once

#include <string>

#include "schemas/wire/control.h"

namespace headrace::coordinator {

// Equal for workers and consumers on one host; UserKey: for a local worker and those that it serves.
[[nodiscard]] inline std::string HostKey(const wire::HostIdentity& host) {
  return host.boot_id + "/" + host.hostname;
}
[[nodiscard]] inline std::string UserKey(const wire::HostIdentity& host) {
  return HostKey(host) + "/" + std::to_string(host.uid);
}

}  // namespace headrace::coordinator
