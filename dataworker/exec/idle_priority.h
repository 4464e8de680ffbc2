#pragma once

#include <pthread.h>
#include <sched.h>

namespace headrace::dataworker {

// While it lives, the calling thread runs only where no other thread of the host wants the core, or, `idle` false,
// as others do. Not for code that has a lock. Where the kernel allows no change, nothing changes. On the stack.
class IdlePriority {
 public:
  explicit IdlePriority(bool idle = true) : idle_(idle) { Set(idle_); }
  IdlePriority(const IdlePriority&) = delete;
  IdlePriority& operator=(const IdlePriority&) = delete;
  ~IdlePriority() { Set(!idle_); }

 private:
  static void Set(bool idle) {
    const sched_param none{};
    (void)pthread_setschedparam(pthread_self(), idle ? SCHED_IDLE : SCHED_OTHER, &none);
  }
  const bool idle_;
};

}  // namespace headrace::dataworker
