// Real processes, confined by the kernel.
#include "dataworker/stage/confine/stage_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

#include "dataworker/stage/confine/confined_run.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// The numbers are those of x86-64, and those of other processors where Linux has one list.
constexpr char kAttempts[] = R"(
CLONE_NEWUSER, CLONE_NEWNS = 0x10000000, 0x20000
x86 = os.uname().machine == 'x86_64'
old = {'ptrace': (101, 117), 'unshare': (272, 97), 'bpf': (321, 280), 'keyctl': (250, 219),
       'perf_event_open': (298, 241), 'userfaultfd': (323, 282), 'mount': (165, 40),
       'process_vm_writev': (311, 271), 'open_by_handle_at': (304, 265), 'clone': (56, 220),
       'setns': (308, 268), 'ioctl': (16, 29), 'clone3': (435, 435)}
number = lambda name: old[name][0 if x86 else 1]
def forks(*words):
    done = libc.syscall(ctypes.c_long(number('clone')), *[ctypes.c_long(w) for w in words])
    if done == 0:
        os._exit(0)
    return 'done' if done > 0 else errno.errorcode[ctypes.get_errno()]
tell('ptrace', call(number('ptrace'), 0, 0, 0, 0))
tell('ptrace another', call(number('ptrace'), 0x4206, os.getppid(), 0, 0))
tell('unshare user', call(number('unshare'), CLONE_NEWUSER) if len(sys.argv) else '')
tell('clone user', forks(CLONE_NEWUSER | 17, 0, 0, 0, 0))
tell('clone3', call(number('clone3'), 0, 0))
tell('mount', call(number('mount'), 0, 0, 0, 0, 0))
tell('bpf', call(number('bpf'), 99, 0, 0))
tell('keyctl', call(number('keyctl'), 0, -3, 0))
tell('perf', call(number('perf_event_open'), 0, 0, -1, -1, 0))
tell('userfaultfd', call(number('userfaultfd'), 1))
tell('io_uring', call(425, 1, 0))
tell('write memory', call(number('process_vm_writev'), os.getpid(), 0, 0, 0, 0, 0))
tell('handle', call(number('open_by_handle_at'), -1, 0, 0))
tell('setns', call(number('setns'), -1, 0))
tell('open_tree', call(428, -100, 0, 0))
tell('terminal', call(number('ioctl'), 0, 0x5412, 0))
tell('terminal hidden', call(number('ioctl'), 0, 0x7700005412, 0))
)";

TEST(StageProcess, MakesNoCallThatNoLoaderNeeds) {
  const ConfinedRun confined = RunConfined({.filter = true}, kAttempts);
  EXPECT_EQ(confined.told.size(), 17U) << confined.said;
  for (const auto& [what, outcome] : confined.told) {
    EXPECT_EQ(outcome, what == "clone3" ? "ENOSYS" : "EPERM") << what;
  }
  // It is the filter that refuses.
  const ConfinedRun free = RunConfined({}, kAttempts);
  for (const char* what : {"ptrace", "io_uring", "mount", "handle", "setns", "terminal",
                           "terminal hidden", "write memory", "clone3"}) {
    EXPECT_NE(free.told.at(what), "EPERM") << what;
    EXPECT_NE(free.told.at(what), "ENOSYS") << what;
  }
}

TEST(StageProcess, WhatLoadersOfDataNeedGoesOn) {
  const ConfinedRun done = RunConfined({.filter = true}, R"(
import multiprocessing, subprocess, threading, mmap, tempfile
from multiprocessing import shared_memory
fork = multiprocessing.get_context('fork')
def half(number):
    return number // 2
with fork.Pool(2) as pool:
    tell('pool', pool.map(half, range(6)))
with multiprocessing.get_context('forkserver').Pool(1) as pool:
    tell('forkserver', pool.map(abs, [-1]))
shared = shared_memory.SharedMemory(create=True, size=100)
shared.buf[0] = 7
other = shared_memory.SharedMemory(shared.name)
tell('shared', other.buf[0])
other.close(); shared.close(); shared.unlink()
tell('program', subprocess.run(['echo', 'hello'], capture_output=True, text=True).stdout.strip())
thread = threading.Thread(target=lambda: tell('thread', 'runs')); thread.start(); thread.join()
with tempfile.TemporaryFile() as file:
    file.write(b'x' * 4096); file.flush()
    tell('mapped', mmap.mmap(file.fileno(), 4096)[0])
os.memfd_create('memory')
os.sched_setaffinity(0, os.sched_getaffinity(0))
tell('named', bool(__import__('socket').getaddrinfo('localhost', 80)))
)");
  EXPECT_EQ(done.status, 0) << done.said;
  EXPECT_EQ(done.told.at("pool"), "[0, 0, 1, 1, 2, 2]");
  EXPECT_EQ(done.told.at("forkserver"), "[1]");
  EXPECT_EQ(done.told.at("shared"), "7");
  EXPECT_EQ(done.told.at("program"), "hello");
  EXPECT_EQ(done.told.at("thread"), "runs");
  EXPECT_EQ(done.told.at("mapped"), "120");
  EXPECT_EQ(done.told.at("named"), "True");
}

TEST(StageProcess, HasItsLimitsAndCannotRaiseThem) {
  constexpr char kLimits[] = R"(
import resource
for name in ('CORE', 'NOFILE', 'NPROC', 'DATA'):
    tell(name, resource.getrlimit(getattr(resource, 'RLIMIT_' + name)))
tell('flag', open('/proc/self/status').read().partition('NoNewPrivs:')[2].split()[0])
try:
    resource.setrlimit(resource.RLIMIT_NOFILE, (600, 600))
    tell('raised', True)
except ValueError:
    tell('raised', False)
tell('forgotten', attempt(os.fstat, 9))
)";
  const Confinement to{.memory_bytes = std::uint64_t{1} << 30,
                       .open_files = 500,
                       .usual_files = 200,
                       .processes = 300,
                       .filter = true};
  const ConfinedRun done = RunConfined(to, kLimits);
  EXPECT_EQ(done.told.at("CORE"), "(0, 0)") << done.said;
  EXPECT_EQ(done.told.at("NOFILE"), "(200, 500)");
  EXPECT_EQ(done.told.at("NPROC"), "(300, 300)");
  EXPECT_EQ(done.told.at("DATA"), "(1073741824, 1073741824)");
  EXPECT_EQ(done.told.at("flag"), "1");
  EXPECT_EQ(done.told.at("forgotten"), "EBADF");
  if (::geteuid() == 0) {
    EXPECT_EQ(done.told.at("raised"), "False");  // that capability is gone
  }
  EXPECT_EQ(RunConfined({}, kLimits).told.at("CORE"), "(0, 0)");
  EXPECT_EQ(RunConfined({}, kLimits).told.at("flag"), "1");
}

TEST(StageProcess, OfRootHasRightsOverFilesAlone) {
  if (::geteuid() != 0) return;  // nobody else has any
  constexpr char kRights[] = R"(
tell('capabilities', open('/proc/self/status').read().partition('CapEff:')[2].split()[0])
tell('chroot', attempt(os.chroot, '/'))
tell('device', attempt(lambda: os.mknod('/tmp/headrace-test-%d' % os.getpid(), 0o20600, os.makedev(1, 3))))
)";
  const ConfinedRun done = RunConfined({.filter = true}, kRights);
  EXPECT_EQ(done.told.at("capabilities"), "00000000000000ff") << done.said;
  EXPECT_EQ(done.told.at("chroot"), "EPERM");
  EXPECT_EQ(done.told.at("device"), "EPERM");
}

TEST(StageProcess, IsTheUserThatIsNamed) {
  if (::geteuid() != 0) return;  // only root starts processes of another user
  const ConfinedRun done = RunConfined({.user = "nobody", .filter = true}, R"(
tell('user', (os.getresuid(), os.getresgid(), 0 in os.getgroups()))
tell('root again', attempt(os.setuid, 0))
tell('capabilities', open('/proc/self/status').read().partition('CapEff:')[2].split()[0])
tell('name', os.environ['USER'])
)");
  EXPECT_EQ(done.told.at("user"), "((65534, 65534, 65534), (65534, 65534, 65534), False)")
      << done.said;
  EXPECT_EQ(done.told.at("root again"), "EPERM");
  EXPECT_EQ(done.told.at("capabilities"), "0000000000000000");
  EXPECT_EQ(done.told.at("name"), "nobody");
}

TEST(StageProcess, HasNoVariablesOfItsStarterButThoseOfStages) {
  ::setenv("AWS_SECRET_ACCESS_KEY", "a secret", 1);
  ::setenv("LICENCE_SERVER", "named", 1);
  constexpr char kLook[] = R"(
tell('secret', os.environ.get('AWS_SECRET_ACCESS_KEY'))
tell('as it began', b'a secret' in open('/proc/self/environ', 'rb').read())
tell('named', os.environ.get('LICENCE_SERVER'))
tell('path', 'PATH' in os.environ)
)";
  ConfinedRun few = RunConfined({.few_variables = true, .variables = {"LICENCE_SERVER"}}, kLook);
  ConfinedRun all = RunConfined({}, kLook);
  ::unsetenv("AWS_SECRET_ACCESS_KEY");
  ::unsetenv("LICENCE_SERVER");
  EXPECT_EQ(few.told["secret"], "None") << few.said;
  EXPECT_EQ(few.told["as it began"], "False");
  EXPECT_EQ(few.told["named"], "named");
  EXPECT_EQ(few.told["path"], "True");
  EXPECT_EQ(all.told["secret"], "a secret");
  EXPECT_EQ(all.told["as it began"], "True");
}

TEST(StageProcess, ThatCannotBeConfinedDoesNotBegin) {
  const ConfinedRun done = RunConfined({.user = "nobody at all"}, "tell('ran', True)");
  EXPECT_EQ(WEXITSTATUS(done.status), kNotConfined);
  EXPECT_THAT(done.said, AllOf(HasSubstr("no user nobody at all"), Not(HasSubstr("ran"))));
}

}  // namespace
}  // namespace headrace::dataworker
