#pragma once

#include "base/process/descriptors.h"
#include "net/reactor.h"

namespace headrace::net {

// Looks every ten seconds how many descriptors the process has open, and writes a warning to the log
// before no connection is accepted any more. For servers. Reactor thread, or before the reactor runs.
class DescriptorWatch {
 public:
  static constexpr Duration kInterval = std::chrono::seconds(10);
  // `reactor` outlives it.
  explicit DescriptorWatch(Reactor& reactor);
  DescriptorWatch(const DescriptorWatch&) = delete;
  DescriptorWatch& operator=(const DescriptorWatch&) = delete;
  ~DescriptorWatch();

 private:
  Reactor& reactor_;
  DescriptorAlarm alarm_;
  TimerId timer_;
};

}  // namespace headrace::net
