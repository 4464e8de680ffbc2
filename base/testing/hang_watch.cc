#include "base/testing/hang_watch.h"

#include <elf.h>
#include <execinfo.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "gtest/gtest.h"

namespace headrace::testing {
namespace {

using std::chrono::nanoseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;

// A handler of signals can reach nothing but what is static, and may not allocate.
std::array<char, 300> running;  // the name of the test
timer_t timer;
std::uintptr_t program_begin, code_begin, code_end;  // where the program lies in memory
std::array<void*, 64> frames;
std::atomic<int> frame_count;  // of the thread that was asked; -1: not answered yet

int Late() { return SIGRTMIN + 7; }
int Tell() { return SIGRTMIN + 8; }

void Say(const char* text) {
  for (std::size_t left = std::strlen(text); left > 0;) {
    const ssize_t wrote = ::write(STDERR_FILENO, text, left);
    if (wrote <= 0) return;
    text += wrote;
    left -= static_cast<std::size_t>(wrote);
  }
}

void TellFrames(int) {
  const int error = errno;
  frame_count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  errno = error;
}

// Functions of the program itself. Those that are not exported have no names for the dynamic linker.
void SayFunctions(int count) {
  static std::array<std::array<char, 24>, frames.size()> places;
  static std::array<char*, frames.size() + 4> words;
  static char program[] = "addr2line", options[] = "-Cfpse", self[40];
  std::snprintf(self, sizeof(self), "/proc/%d/exe", ::getpid());
  std::size_t next = 0;
  for (char* word : {program, options, self}) words[next++] = word;
  for (int i = 0; i < count; ++i) {
    const auto at = reinterpret_cast<std::uintptr_t>(frames[static_cast<std::size_t>(i)]);
    if (at < code_begin || at >= code_end) continue;
    auto& place = places[static_cast<std::size_t>(i)];
    std::snprintf(place.data(), place.size(), "0x%zx",
                  at - program_begin - 1);  // the call before it
    words[next++] = place.data();
  }
  words[next] = nullptr;
  if (next == 3) return;
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
  pid_t child = 0;
  if (::posix_spawnp(&child, program, &actions, nullptr, words.data(), environ) == 0) {
    ::waitpid(child, nullptr, 0);
  }
}

// Addresses of the program's code on the stack of a thread that waits in the kernel; their number.
int ScanStack(pid_t thread) {
  static std::array<char, 200> told;
  static std::array<std::uintptr_t, 2048> stack;
  std::snprintf(told.data(), told.size(), "/proc/self/task/%d/syscall", thread);
  const int file = ::open(told.data(), O_RDONLY | O_CLOEXEC);
  const ssize_t size = ::read(file, told.data(), told.size() - 1);
  told[static_cast<std::size_t>(std::max<ssize_t>(size, 0))] = '\0';
  // Number and six arguments of the call; then the pointers to the stack and to the instruction.
  const char* word = told.data();
  for (int i = 0; i < 7 && word != nullptr; ++i) word = std::strchr(word + 1, ' ');
  if (word == nullptr) return 0;  // "running"
  void* const at = reinterpret_cast<void*>(std::strtoull(word, nullptr, 16));
  const iovec into{stack.data(), sizeof(stack)}, from{at, sizeof(stack)};
  const ssize_t bytes = ::process_vm_readv(::getpid(), &into, 1, &from, 1, 0);
  int count = 0;
  for (std::size_t i = 0; static_cast<ssize_t>((i + 1) * sizeof(stack[0])) <= bytes; ++i) {
    const bool code = stack[i] >= code_begin && stack[i] < code_end;
    if (code && count < static_cast<int>(frames.size())) {
      frames[static_cast<std::size_t>(count++)] = reinterpret_cast<void*>(stack[i]);
    }
  }
  return count;
}

void SayThread(pid_t thread) {
  static std::array<char, 80> line;
  std::snprintf(line.data(), line.size(), "--- thread %d\n", thread);
  Say(line.data());
  frame_count = -1;
  if (::syscall(SYS_tgkill, ::getpid(), thread, Tell()) != 0) return;
  const timespec moment{0, 1'000'000};
  for (int i = 0; i < 500 && frame_count < 0; ++i) ::nanosleep(&moment, nullptr);
  if (frame_count < 0) {
    // As the threads of a reactor, which block all signals.
    Say("it does not answer; addresses on its stack that are of functions, old ones too:\n");
    frame_count = ScanStack(thread);
  }
  ::backtrace_symbols_fd(frames.data(), frame_count, STDERR_FILENO);
  SayFunctions(frame_count);
}

void SayAllThreads() {
  alignas(8) static std::array<char, 16'384> entries;
  struct Entry {  // as the kernel has it
    std::uint64_t inode;
    std::int64_t offset;
    std::uint16_t size;
    unsigned char type;
    char name[1];
  };
  const int folder = ::open("/proc/self/task", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const auto self = static_cast<pid_t>(::syscall(SYS_gettid));
  for (long size = 0;
       (size = ::syscall(SYS_getdents64, folder, entries.data(), entries.size())) > 0;) {
    for (long at = 0; at < size;) {
      const auto* entry = reinterpret_cast<const Entry*>(entries.data() + at);
      at += entry->size;
      if (const int thread = std::atoi(entry->name); thread > 0 && thread != self)
        SayThread(thread);
    }
  }
}

void Hung(int) {
  Say("\nThis test hangs: ");
  Say(running.data());
  Say("\n--- the thread that was told\n");
  const int count = ::backtrace(frames.data(), static_cast<int>(frames.size()));
  ::backtrace_symbols_fd(frames.data(), count, STDERR_FILENO);
  SayFunctions(count);
  SayAllThreads();
  ::_exit(HangWatch::kHung);
}

void Handle(int signal, void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  ::sigaction(signal, &action, nullptr);
}

void Prepare() {
  ::backtrace(frames.data(), 1);  // the first call loads a library
  Handle(Late(), Hung);
  Handle(Tell(), TellFrames);
  ::dl_iterate_phdr(
      [](dl_phdr_info* info, std::size_t, void*) {  // the first one is the program
        program_begin = info->dlpi_addr;
        for (int i = 0; i < info->dlpi_phnum; ++i) {
          const auto& part = info->dlpi_phdr[i];
          if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
          code_begin = program_begin + part.p_vaddr;
          code_end = code_begin + part.p_memsz;
        }
        return 1;
      },
      nullptr);
  sigevent event = {};
  event.sigev_notify = SIGEV_SIGNAL;
  event.sigev_signo = Late();
  ::timer_create(CLOCK_MONOTONIC, &event, &timer);
}

class Listener : public ::testing::EmptyTestEventListener {
 public:
  Listener(seconds per_test, seconds program) : per_test_(per_test), program_(program) {}

  void OnTestIterationStart(const ::testing::UnitTest& /*all*/, int /*iteration*/) override {
    begin_ = steady_clock::now();
  }

  void OnTestStart(const ::testing::TestInfo& test) override {
    const std::string name = std::string(test.test_suite_name()) + "." + test.name();
    const nanoseconds left = program_ - (steady_clock::now() - begin_);
    HangWatch::Arm(name.c_str(), std::clamp<nanoseconds>(left, seconds(1), per_test_));
  }
  // What is taken down after the last test may hang, too.
  void OnTestEnd(const ::testing::TestInfo& test) override {
    const std::string name = std::string("after ") + test.test_suite_name() + "." + test.name();
    HangWatch::Arm(name.c_str(), per_test_);
  }

 private:
  const seconds per_test_, program_;
  steady_clock::time_point begin_ = steady_clock::now();
};

}  // namespace

void HangWatch::Begin() {
  seconds per_test = kPerTest, program = kProgram;
  if (const char* said = std::getenv("HEADRACE_TEST_LIMIT_S")) {
    per_test = seconds(std::atoi(said));
    program = std::chrono::hours(24 * 365);  // who says so knows what the program takes
  }
  if (per_test <= seconds(0)) return;
  // GoogleTest owns it.
  ::testing::UnitTest::GetInstance()->listeners().Append(new Listener(per_test, program));
}

void HangWatch::Arm(const char* name, nanoseconds limit) {
  static pid_t prepared = 0;  // a fork has no timer of its parent's
  if (prepared != ::getpid()) Prepare();
  prepared = ::getpid();
  itimerspec when = {};
  ::timer_settime(timer, 0, &when, nullptr);  // the name changes while nothing may read it
  std::snprintf(running.data(), running.size(), "%s", name);
  when.it_value.tv_sec = limit / seconds(1);
  when.it_value.tv_nsec = (limit % seconds(1)).count();
  ::timer_settime(timer, 0, &when, nullptr);
}

}  // namespace headrace::testing
