#pragma once

#include <sys/resource.h>

namespace headrace {

// User and system time, in seconds.
[[nodiscard]] inline double CpuSecondsOf(const rusage& usage) {
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

}  // namespace headrace
