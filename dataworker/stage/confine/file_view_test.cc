// What real processes see of files.
#include "dataworker/stage/confine/file_view.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <string>
#include <vector>

#include "base/unique_fd.h"
#include "dataworker/source/core/source_fixture.h"
#include "dataworker/stage/confine/confined_run.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

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
