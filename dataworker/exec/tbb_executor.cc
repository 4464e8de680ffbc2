#include "dataworker/exec/tbb_executor.h"

#include <oneapi/tbb/global_control.h>
#include <oneapi/tbb/task_arena.h>
#include <pthread.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#ifdef HEADRACE_TSAN  // see CMakeLists.txt
#include <sanitizer/tsan_interface.h>
// This also covers what the library allocates and frees itself.
extern "C" __attribute__((visibility("default"))) const char* __tsan_default_suppressions() {
  return "race:libtbb.so\n";
}
#else
#define __tsan_acquire(address)
#define __tsan_release(address)
#endif

namespace headrace::dataworker {
namespace {

// Gives the calling thread its name, once. A TBB observer would leak memory when an arena ends
// before its threads have come.
void NameThread() {
  static std::atomic<int> next = 0;
  thread_local const int number = [] {
    const int mine = next++;
    pthread_setname_np(pthread_self(), ("hr-cpu-" + std::to_string(mine)).c_str());
    return mine;
  }();
  (void)number;
}

// Tasks wait in our own queue, in order. The arena only gets calls to drain it, one for each thread
// that is not draining yet.
class TbbExecutor final : public Executor {
 public:
  explicit TbbExecutor(int threads)
      : threads_(threads),
        // TBB counts the calling thread too, though it never enters this arena.
        parallelism_(tbb::global_control::max_allowed_parallelism,
                     static_cast<std::size_t>(threads) + 1),
        arena_(threads, /*reserved_for_masters=*/0) {
    for (int i = 0; i < threads; ++i) {
      contexts_.push_back(std::make_unique<ThreadContext>());
      contexts_.back()->index = i;
      free_.push_back(contexts_.back().get());
    }
  }
  ~TbbExecutor() override { Stop(); }

  [[nodiscard]] int concurrency() const override { return threads_; }

  void Submit(Task task) override {
    {
      const std::lock_guard lock(mutex_);
      if (stopped_) return;
      tasks_.push_back(std::move(task));
      if (draining_ == threads_) return;
      ++draining_;
    }
    __tsan_release(this);
    arena_.enqueue([this] {
      __tsan_acquire(this);
      Drain();
    });
  }

  void Stop() override {
    std::unique_lock lock(mutex_);
    stopped_ = true;
    idle_.wait(lock, [this] { return draining_ == 0; });
  }

 private:
  void Drain() {
    NameThread();
    ThreadContext* context = nullptr;
    while (true) {
      Task task;
      {
        const std::lock_guard lock(mutex_);
        if (context == nullptr) {
          context = free_.back();  // at most threads_ drain at a time
          free_.pop_back();
        }
        if (tasks_.empty()) {
          free_.push_back(context);
          // Notified under the lock: Stop may destroy this object as soon as it sees zero.
          if (--draining_ == 0) idle_.notify_all();
          return;
        }
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task(*context);
    }
  }

  const int threads_;
  tbb::global_control parallelism_;
  tbb::task_arena arena_;
  std::vector<std::unique_ptr<ThreadContext>> contexts_;

  std::mutex mutex_;
  std::condition_variable idle_;
  // Guarded by mutex_:
  std::deque<Task> tasks_;
  std::vector<ThreadContext*> free_;  // not lent; the last one used is the warmest
  int draining_ = 0;
  bool stopped_ = false;
};

}  // namespace

std::unique_ptr<Executor> MakeTbbExecutor(int threads) {
  return std::make_unique<TbbExecutor>(threads);
}

}  // namespace headrace::dataworker
