#include "dataworker/stage/confine/call_filter.h"

#include <linux/seccomp.h>
#include <sched.h>
#include <seccomp.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>
#include <memory>
#include <string>

namespace headrace::dataworker {
namespace {

// Each of them reaches into the kernel, into other processes, or out of a view of files. One that the
// library or the processor does not know is left out: it has no number to be called by.
constexpr std::array kNever = {
    // other processes
    "ptrace", "process_vm_readv", "process_vm_writev", "process_madvise", "kcmp", "pidfd_getfd",
    // the view of files
    "mount", "umount", "umount2", "pivot_root", "chroot", "move_mount", "open_tree", "fsopen",
    "fsconfig", "fsmount", "fspick", "mount_setattr", "setns", "open_by_handle_at",
    "name_to_handle_at", "quotactl", "quotactl_fd", "fanotify_init",
    // the kernel's own state
    "init_module", "finit_module", "delete_module", "kexec_load", "kexec_file_load", "reboot",
    "swapon", "swapoff", "acct", "settimeofday", "stime", "clock_settime", "clock_settime64",
    "adjtimex", "clock_adjtime", "clock_adjtime64", "sethostname", "setdomainname", "syslog",
    "iopl", "ioperm", "vhangup",
    // parts of it that many attacks went through, and that no loader needs
    "bpf", "perf_event_open", "keyctl", "add_key", "request_key", "userfaultfd", "io_uring_setup",
    "io_uring_enter", "io_uring_register", "modify_ldt", "uselib", "lookup_dcookie", "vm86",
    "vm86old", "_sysctl", "sysfs", "ustat", "nfsservctl"};

// CLONE_NEWTIME has a bit that means something else in clone().
constexpr std::array<std::uint64_t, 7> kNamespaces = {CLONE_NEWUSER,  CLONE_NEWNS,  CLONE_NEWPID,
                                                      CLONE_NEWNET,   CLONE_NEWIPC, CLONE_NEWUTS,
                                                      CLONE_NEWCGROUP};
constexpr std::uint64_t kNewTime = 0x80;
// The kernel looks at the lower half of these arguments, so the upper one must not hide them.
constexpr std::uint64_t kLower = 0xffffffff;

#ifndef TIOCLINUX
#define TIOCLINUX 0x541C
#endif

#ifdef __s390x__
constexpr unsigned kCloneFlags = 1;
#else
constexpr unsigned kCloneFlags = 0;
#endif

class Rules {
 public:
  Rules() : rules_(::seccomp_init(SCMP_ACT_ALLOW), &::seccomp_release) {}
  [[nodiscard]] int Set(scmp_filter_attr attribute, std::uint32_t value) {
    return ::seccomp_attr_set(rules_.get(), attribute, value);
  }
  void Refuse(const char* name, int error = EPERM) {
    const int call = ::seccomp_syscall_resolve_name(name);
    if (call != __NR_SCMP_ERROR)
      Note(::seccomp_rule_add(rules_.get(), SCMP_ACT_ERRNO(error), call, 0));
  }
  // Where `argument` has `value` under `mask`.
  void RefuseWhere(int call, unsigned argument, std::uint64_t mask, std::uint64_t value) {
    const scmp_arg_cmp where = SCMP_CMP64(argument, SCMP_CMP_MASKED_EQ, mask, value);
    Note(::seccomp_rule_add_array(rules_.get(), SCMP_ACT_ERRNO(EPERM), call, 1, &where));
  }
  [[nodiscard]] int Load() { return error_ != 0 ? error_ : ::seccomp_load(rules_.get()); }
  [[nodiscard]] bool valid() const { return rules_ != nullptr; }

 private:
  void Note(int result) {
    if (result != 0 && result != -EDOM && error_ == 0) error_ = result;
  }

  std::unique_ptr<void, decltype(&::seccomp_release)> rules_;
  int error_ = 0;
};

}  // namespace

bool CallFilterAvailable() {
  const std::uint32_t action = SECCOMP_RET_ERRNO;
  return ::syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0, &action) == 0;
}

Status FilterCalls() {
  Rules rules;
  if (!rules.valid()) return ResourceExhausted("no memory for a filter of system calls");
  // Calls by the numbers of another processor (32 bits on 64) fail too. The rest is speed: a tree of
  // numbers, and no slower memory, which old kernels couple to a filter.
  if (rules.Set(SCMP_FLTATR_ACT_BADARCH, SCMP_ACT_ERRNO(EPERM)) != 0 ||
      rules.Set(SCMP_FLTATR_CTL_OPTIMIZE, 2) != 0 || rules.Set(SCMP_FLTATR_CTL_SSB, 1) != 0) {
    return Internal("the filter of system calls takes no attribute");
  }
  for (const char* name : kNever) rules.Refuse(name);
  for (const std::uint64_t flag : kNamespaces) {
    rules.RefuseWhere(SCMP_SYS(clone), kCloneFlags, flag, flag);
    rules.RefuseWhere(SCMP_SYS(unshare), 0, flag, flag);
  }
  rules.RefuseWhere(SCMP_SYS(unshare), 0, kNewTime, kNewTime);
  // Its flags lie in memory, where a filter can't look. The C library goes on with clone().
  rules.Refuse("clone3", ENOSYS);
  // Words that are put into a terminal are run by whoever sits there.
  rules.RefuseWhere(SCMP_SYS(ioctl), 1, kLower, TIOCSTI);
  rules.RefuseWhere(SCMP_SYS(ioctl), 1, kLower, TIOCLINUX);
  if (const int error = rules.Load(); error != 0) {
    return Unsupported("the kernel takes no filter of system calls: " +
                       ErrnoStatus(-error, "seccomp").message());
  }
  return {};
}

}  // namespace headrace::dataworker
