#include "dataworker/exec/idle_thread.h"

#include <pthread.h>
#include <sched.h>

#include <cerrno>
#include <utility>

namespace headrace::dataworker {
namespace {

void AwaitPost(sem_t& semaphore) {
  while (::sem_wait(&semaphore) != 0 && errno == EINTR) {
  }
}

}  // namespace

IdleThread::IdleThread() {
  ::sem_init(&to_thread_, 0, 0);
  ::sem_init(&to_owner_, 0, 0);
  thread_ = std::thread([this] { Loop(); });
}

IdleThread::~IdleThread() {
  work_ = nullptr;
  ::sem_post(&to_thread_);
  thread_.join();
  ::sem_destroy(&to_thread_);
  ::sem_destroy(&to_owner_);
}

void IdleThread::Run(const std::function<void()>& work) {
  work_ = &work;
  ::sem_post(&to_thread_);
  while (true) {
    AwaitPost(to_owner_);
    if (call_ == nullptr) return;
    (*std::exchange(call_, nullptr))();
    ::sem_post(&to_thread_);
  }
}

void IdleThread::AtOwner(const std::function<void()>& call) {
  call_ = &call;
  ::sem_post(&to_owner_);
  AwaitPost(to_thread_);
}

void IdleThread::Loop() {
  pthread_setname_np(pthread_self(), "hr-idle");
  const sched_param none{};
  (void)pthread_setschedparam(pthread_self(), SCHED_IDLE, &none);
  while (true) {
    AwaitPost(to_thread_);
    if (work_ == nullptr) return;
    (*work_)();
    ::sem_post(&to_owner_);
  }
}

}  // namespace headrace::dataworker
