#include "trainer_client/session/copy_team.h"

#include <emmintrin.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

namespace headrace::client {
namespace {

constexpr std::size_t kPart = std::size_t{512} << 10;
constexpr std::size_t kLine = 64;
constexpr int kMostHelpers = 3;

void CopyPastCaches(std::byte* to, const std::byte* from, std::size_t bytes) {
  if (bytes == 0) return;  // both may be null
  const std::size_t before = std::min(bytes, -reinterpret_cast<std::uintptr_t>(to) % kLine);
  std::memcpy(to, from, before);
  to += before, from += before, bytes -= before;
  for (; bytes >= kLine; to += kLine, from += kLine, bytes -= kLine) {
    const auto* source = reinterpret_cast<const __m128i*>(from);
    auto* target = reinterpret_cast<__m128i*>(to);
    const __m128i a = _mm_loadu_si128(source), b = _mm_loadu_si128(source + 1);
    const __m128i c = _mm_loadu_si128(source + 2), d = _mm_loadu_si128(source + 3);
    _mm_stream_si128(target, a);
    _mm_stream_si128(target + 1, b);
    _mm_stream_si128(target + 2, c);
    _mm_stream_si128(target + 3, d);
  }
  std::memcpy(to, from, bytes);
  _mm_sfence();  // before anybody is told that it is there
}

}  // namespace

class CopyTeam::Work {
 public:
  Work(MutableByteSpan to, ByteSpan from)
      : to_(to), from_(from), parts_((from.size() + kPart - 1) / kPart) {}

  // Copies parts until none is left.
  void Take() {
    for (;;) {
      const std::size_t part = next_.fetch_add(1, std::memory_order_relaxed);
      if (part >= parts_) return;
      const std::size_t begin = part * kPart;
      CopyPastCaches(to_.data() + begin, from_.data() + begin,
                     std::min(kPart, from_.size() - begin));
      if (done_.fetch_add(1, std::memory_order_acq_rel) + 1 == parts_) done_.notify_all();
    }
  }
  // Until those that others took are copied, too.
  void Await() {
    for (std::size_t seen = done_.load(std::memory_order_acquire); seen < parts_;
         seen = done_.load(std::memory_order_acquire)) {
      done_.wait(seen, std::memory_order_acquire);
    }
  }

 private:
  MutableByteSpan to_;
  ByteSpan from_;
  std::size_t parts_;
  std::atomic<std::size_t> next_{0};
  std::atomic<std::size_t> done_{0};
};

// The threads, which end with it.
class CopyTeam::Helpers {
 public:
  explicit Helpers(int count) {
    for (int i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        pthread_setname_np(pthread_self(), "hr-copy");
        Run();
      });
    }
  }
  ~Helpers() {
    {
      const std::scoped_lock lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    for (std::thread& thread : threads_) thread.join();
  }
  Helpers(const Helpers&) = delete;
  Helpers& operator=(const Helpers&) = delete;

  void Give(const std::shared_ptr<Work>& work) {
    {
      const std::scoped_lock lock(mutex_);
      latest_ = work;
    }
    changed_.notify_all();
  }

 private:
  void Run() {
    std::shared_ptr<Work> seen;
    for (;;) {
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || latest_ != seen; });
        if (ended_) return;
        seen = latest_;
      }
      seen->Take();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::shared_ptr<Work> latest_;  // a helper that comes late finds nothing left in it
  bool ended_ = false;
  std::vector<std::thread> threads_;
};

int CopyTeam::HelpersFor(int cpus) { return std::clamp(cpus / 4 - 1, 0, kMostHelpers); }

CopyTeam::CopyTeam(int helpers) : count_(helpers) {}

CopyTeam::~CopyTeam() {
  // In a forked child the threads are the parent's: nothing there can end them or wait for them.
  if (helpers_ && pid_ != ::getpid()) (void)helpers_.release();
}

void CopyTeam::Copy(MutableByteSpan to, ByteSpan from) {
  const bool alone = from.size() < kLeastShared || count_ == 0;
  if (alone || (helpers_ && pid_ != ::getpid())) {
    CopyPastCaches(to.data(), from.data(), from.size());
    return;
  }
  if (!helpers_) {
    pid_ = ::getpid();
    helpers_ = std::make_unique<Helpers>(count_);
  }
  const auto work = std::make_shared<Work>(to, from);
  helpers_->Give(work);
  work->Take();
  work->Await();
}

}  // namespace headrace::client
