#include "dataworker/worker/private_directory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>

namespace headrace::dataworker {
namespace {

namespace fs = std::filesystem;

// A bound socket, whose name stays when it is closed.
int Listening(const fs::path& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
  const int fd = ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  EXPECT_EQ(::bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof(address)), 0);
  EXPECT_EQ(::listen(fd, 1), 0);
  return fd;
}

std::string NumberOfADeadProcess() {
  const pid_t child = ::fork();
  if (child == 0) ::_exit(0);
  EXPECT_EQ(::waitpid(child, nullptr, 0), child);
  return std::to_string(child);
}

TEST(PrivateDirectory, LosesTheSocketsOfKilledWorkersAlone) {
  fs::path folder = fs::temp_directory_path() / "headrace-directory-XXXXXX";
  std::string name = folder.string();
  ASSERT_NE(::mkdtemp(name.data()), nullptr);
  folder = name;
  const std::string dead = NumberOfADeadProcess();
  const std::string own = std::to_string(::getpid());
  for (const std::string& left :
       {"w" + dead + ".data", "w" + dead + ".leaves", "w" + own + ".data", "x" + dead + ".data"}) {
    ::close(Listening(folder / left));
  }
  const int served = Listening(folder / ("w" + dead + ".arena"));  // of another container
  std::ofstream(folder / "w1x.arena");
  ASSERT_TRUE(PrivateDirectory(folder).ok());
  std::set<std::string> kept;
  for (const auto& entry : fs::directory_iterator(folder)) kept.insert(entry.path().filename());
  EXPECT_THAT(kept, testing::UnorderedElementsAre("w" + own + ".data", "x" + dead + ".data",
                                                  "w" + dead + ".arena", "w1x.arena"));
  ::close(served);
  ASSERT_TRUE(PrivateDirectory(folder).ok());
  EXPECT_FALSE(fs::exists(folder / ("w" + dead + ".arena")));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace headrace::dataworker
