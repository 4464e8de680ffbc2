#include "dataworker/stage/confine/python_places.h"

#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include "base/process/spawn.h"
#include "base/unique_fd.h"

namespace headrace::dataworker {
namespace {

constexpr char kAsk[] =
    "import os, site, sys\n"
    "places = sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix, *sys.path\n"
    "user = site.getusersitepackages()\n"
    "sys.stdout.write('\\0'.join(p for p in (*places, user) if os.path.isabs(p)))";

std::string ReadAll(int fd) {
  std::string text;
  std::array<char, 4096> buffer;
  for (;;) {
    const ssize_t got = ::read(fd, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return text;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

}  // namespace

Result<std::string> FindProgram(const std::string& name) {
  const auto may_run = [](const std::string& path) { return ::access(path.c_str(), X_OK) == 0; };
  if (name.find('/') != std::string::npos) {
    if (may_run(name)) return name;
    return NotFound("start " + name + ": " + ErrnoStatus(errno, "it").message());
  }
  const char* path = std::getenv("PATH");
  std::istringstream folders(path != nullptr ? path : "/usr/local/bin:/usr/bin:/bin");
  for (std::string folder; std::getline(folders, folder, ':');) {
    std::string found = (folder.empty() ? "." : folder) + "/" + name;
    if (may_run(found)) return found;
  }
  return NotFound("start " + name + ": no such program in PATH");
}

Result<std::vector<std::string>> PythonPlaces(const std::string& program) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus(errno, "pipe");
  const UniqueFd ours(ends[0]);
  UniqueFd theirs(ends[1]);
  // Isolated: neither the environment nor the working directory says where modules are.
  HR_TRY(const pid_t pid, Spawn({.command = {program, "-I", "-c", kAsk},
                                 .empty_input = true,
                                 .descriptors = {{theirs.get(), STDOUT_FILENO}}}));
  theirs.reset();
  const std::string said = ReadAll(ours.get());
  int status = 0;
  while (::waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  if (status != 0 || said.empty()) return Unsupported(program + " does not say where it lies");
  std::vector<std::string> places;
  std::istringstream words(said);
  for (std::string place; std::getline(words, place, '\0');) places.push_back(place);
  return places;
}

}  // namespace headrace::dataworker
