#pragma once

#include <semaphore.h>

#include <functional>
#include <thread>

namespace headrace::dataworker {

// A thread that runs only where no other thread of the host wants the core (SCHED_IDLE), until it ends. The kernel
// lets the thread of an ordinary user in there, but not out again: that takes a right (RLIMIT_NICE, CAP_SYS_NICE).
//
// It may be stopped for long at any place. So what it runs must have no lock for which others wait. What needs one it
// has its owner do, at the owner's priority (AtOwner). Both hand over by semaphores, which are no locks. Where
// the kernel refuses the policy, it runs as others do. One owner at a time, which may be any thread.
class IdleThread {
 public:
  IdleThread();
  IdleThread(const IdleThread&) = delete;
  IdleThread& operator=(const IdleThread&) = delete;
  // REQUIRES: Run runs nothing.
  ~IdleThread();

  // Runs it there, and waits. It must not throw.
  void Run(const std::function<void()>& work);
  // From within `work`: runs it on the thread that waits in Run, and waits.
  void AtOwner(const std::function<void()>& call);

 private:
  void Loop();

  // Each is written by one side before it posts, and read by the other after it.
  const std::function<void()>* work_ = nullptr;  // none: it ends
  const std::function<void()>* call_ = nullptr;
  sem_t to_thread_;
  sem_t to_owner_;
  std::thread thread_;
};

}  // namespace headrace::dataworker
