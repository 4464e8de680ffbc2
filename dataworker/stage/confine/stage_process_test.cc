// Real processes, confined by the kernel.
#include "dataworker/stage/confine/stage_process.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "base/process/spawn.h"
#include "base/unique_fd.h"
#include "dataworker/source/core/source_fixture.h"
#include "dataworker/stage/confine/file_view.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kPython[] = "/usr/bin/python3";

// What each test's Python has: try_ tells an outcome by the name of its error.
constexpr char kPrelude[] = R"(
import ctypes, errno, os, sys
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *words):
    ctypes.set_errno(0)
    done = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(w) for w in words])
    return 'done' if done >= 0 else errno.errorcode[ctypes.get_errno()]
def attempt(action, *words):
    try:
        action(*words)
    except OSError as error:
        return errno.errorcode[error.errno]
    return 'done'
def tell(name, what):
    print(name, what, sep='=', flush=True)
)";

constexpr int kForgotten = 9;  // a descriptor that somebody left open

struct ConfinedRun {
  int status = 0;
  std::string said;
  std::map<std::string, std::string> told;
};

ConfinedRun RunConfined(const Confinement& to, const std::string& script) {
  int ends[2];
  EXPECT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  const Result<pid_t> pid =
      Spawn({.command = StageProcessCommand(to, {kPython, "-c", kPrelude + script}),
             .descriptors = {{theirs.get(), STDOUT_FILENO},
                             {theirs.get(), STDERR_FILENO},
                             {theirs.get(), kForgotten}}});
  EXPECT_TRUE(pid.ok());
  theirs.reset();
  ConfinedRun outcome;
  std::array<char, 4096> buffer;
  for (ssize_t got = 0; (got = ::read(ours.get(), buffer.data(), buffer.size())) > 0;) {
    outcome.said.append(buffer.data(), static_cast<std::size_t>(got));
  }
  EXPECT_EQ(::waitpid(*pid, &outcome.status, 0), *pid);
  std::istringstream lines(outcome.said);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t equals = line.find('=');
    if (equals != std::string::npos) outcome.told[line.substr(0, equals)] = line.substr(equals + 1);
  }
  return outcome;
}

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

class StageViewTest : public ::testing::Test {
 protected:
  StageViewTest() {
    ::chmod(folder_.path().c_str(), 0755);
    data_ = folder_.path() + "/data";
    secret_ = folder_.path() + "/secret";
    std::filesystem::create_directory(data_);
    folder_.Write("data/sample", "sample");
    folder_.Write("secret", "secret");
    std::filesystem::create_symlink("../secret", data_ + "/way out");
  }
  // As a worker would: the roots of --allow-root, for a user or for its own.
  [[nodiscard]] Confinement With(const std::string& user) const {
    return {.user = user, .processes = 200, .filter = true, .roots = {data_}};
  }
  ConfinedRun Look(const std::string& user, const std::string& script) {
    return RunConfined(With(user), "data, secret = '" + data_ + "', '" + secret_ + "'\n" + script);
  }
  static std::vector<std::string> Users() {
    return ::geteuid() == 0 ? std::vector<std::string>{"", "nobody"} : std::vector<std::string>{""};
  }

  TemporaryDirectory folder_;
  std::string data_, secret_;
};

TEST_F(StageViewTest, ShowsTheRootsAndNothingElseOfTheData) {
  for (const std::string& user : Users()) {
    ConfinedRun seen = Look(user, R"(
tell('sample', open(data + '/sample').read())
tell('secret', attempt(open, secret))
tell('by a link', attempt(open, data + '/way out'))
tell('by the worker', attempt(open, '/proc/%d/root%s' % (os.getppid(), secret)))
tell('by its directory', attempt(open, '/proc/%d/cwd' % os.getppid()))
tell('by the first process', attempt(os.listdir, '/proc/1/root/root'))
tell('environment', attempt(open, '/proc/%d/environ' % os.getppid()))
tell('root', sorted(os.listdir('/')))
tell('passwords', attempt(open, '/etc/shadow'))
tell('write', attempt(open, data + '/new', 'w'))
tell('change', attempt(open, data + '/sample', 'a'))
tell('write /usr', attempt(open, '/usr/new', 'w'))
tell('write /', attempt(open, '/new', 'w'))
tell('write /etc', attempt(open, '/etc/new', 'w'))
tell('kernel', attempt(open, '/proc/sys/kernel/core_pattern', 'w'))
tell('memory', attempt(open, '/proc/%d/mem' % os.getppid(), 'r+b'))
tell('map', attempt(open, '/proc/self/uid_map', 'w'))
tell('unmount', call(166, 0, 0))
tell('up', sorted(os.listdir('/..')) == sorted(os.listdir('/')))
tell('devices', sorted(os.listdir('/dev')))
)");
    EXPECT_EQ(seen.told["sample"], "sample") << seen.said;
    EXPECT_EQ(seen.told["secret"], "ENOENT");
    EXPECT_EQ(seen.told["by a link"], "ENOENT");
    for (const char* way :
         {"by the worker", "by its directory", "by the first process", "environment"}) {
      EXPECT_THAT(seen.told[way], ::testing::AnyOf("EACCES", "EPERM")) << way;
    }
    EXPECT_THAT(seen.told["root"], AllOf(Not(HasSubstr("'root'")), Not(HasSubstr("'home'"))));
    EXPECT_EQ(seen.told["passwords"], "ENOENT");
    for (const char* place :
         {"write", "change", "write /usr", "write /", "write /etc", "kernel", "map"}) {
      EXPECT_THAT(seen.told[place], ::testing::AnyOf("EROFS", "EACCES")) << place;
    }
    EXPECT_THAT(seen.told["memory"], ::testing::AnyOf("EROFS", "EACCES"));
    EXPECT_EQ(seen.told["unmount"], "EPERM");
    EXPECT_EQ(seen.told["up"], "True");
    EXPECT_EQ(seen.told["devices"],
              "['fd', 'full', 'null', 'random', 'shm', 'stderr', 'stdin', 'stdout', 'urandom', "
              "'zero']");
  }
}

TEST_F(StageViewTest, HasMemoryAndFilesOfItsOwn) {
  const std::string name = "headrace-test-" + std::to_string(::getpid());
  const UniqueFd shared(::open(("/dev/shm/" + name).c_str(), O_CREAT | O_RDWR | O_CLOEXEC, 0666));
  for (const std::string& user : Users()) {
    ConfinedRun seen = Look(user, R"(
import multiprocessing, subprocess, tempfile, ssl, sqlite3
from multiprocessing import shared_memory
tell('others', os.listdir('/dev/shm'))
tell('temporary', tempfile.gettempdir())
with tempfile.NamedTemporaryFile() as file:
    tell('writes', file.write(b'12345'))
    tell('seen outside', os.path.exists('/proc/1/root' + file.name))
shared = shared_memory.SharedMemory(create=True, size=100)
shared.close(); shared.unlink()
def half(number):
    return number // 2
with multiprocessing.get_context('fork').Pool(2) as pool:
    tell('pool', pool.map(half, range(4)))
tell('program', subprocess.run(['echo', 'hello'], capture_output=True, text=True).stdout.strip())
open('/dev/null', 'w').write('nothing')
tell('random', len(os.urandom(8)))
tell('home', os.path.expanduser('~'))
tell('cpus', os.cpu_count() > 0)
)");
    EXPECT_EQ(seen.status, 0) << seen.said;
    EXPECT_EQ(seen.told["others"], "[]");
    EXPECT_EQ(seen.told["temporary"], "/tmp");
    EXPECT_EQ(seen.told["writes"], "5");
    EXPECT_EQ(seen.told["seen outside"], "False");
    EXPECT_EQ(seen.told["pool"], "[0, 0, 1, 1]");
    EXPECT_EQ(seen.told["program"], "hello");
    EXPECT_EQ(seen.told["home"], "/tmp");
  }
  ::unlink(("/dev/shm/" + name).c_str());
}

TEST_F(StageViewTest, CountsItsProcessesApart) {
  const std::string user = ::geteuid() == 0 ? "nobody" : "";
  ConfinedRun done = Look(user, R"(
import signal
started = []
try:
    while len(started) < 400:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        started.append(pid)
except OSError as error:
    tell('refused', errno.errorcode[error.errno])
tell('started', len(started))
for pid in started:
    os.kill(pid, signal.SIGKILL)
)");
  EXPECT_EQ(done.told["refused"], "EAGAIN") << done.said;
  EXPECT_EQ(done.told["started"], "199");
}

TEST(FileViewPlan, ShowsEachPlaceOnce) {
  const auto view = FileView::Plan({"/data", "/data/more", "/tmp/set", "/var", "/usr/set"}, "");
  ASSERT_TRUE(view.ok());
  for (const auto& [path, kind] : std::map<std::string, std::string>{{"/data", "tree"},
                                                                     {"/data/more", ""},
                                                                     {"/tmp", "own"},
                                                                     {"/tmp/set", "tree"},
                                                                     {"/var", "tree"},
                                                                     {"/var/tmp", ""},
                                                                     {"/usr", "tree"},
                                                                     {"/usr/set", ""},
                                                                     {"/dev/null", "device"},
                                                                     {"/dev/fd", "link"},
                                                                     {"/dev/shm", "own"}}) {
    EXPECT_EQ(view->KindAt(path), kind) << path;
  }
  const auto all_of_tmp = FileView::Plan({"/tmp"}, "");
  ASSERT_TRUE(all_of_tmp.ok());
  EXPECT_EQ(all_of_tmp->KindAt("/tmp"), "tree");
}

}  // namespace
}  // namespace headrace::dataworker
