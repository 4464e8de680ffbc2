#pragma once

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

namespace headrace::coordinator {

// Test double: an interpreter "with Ray" that runs tests/support/servers/fake_ray.py in place of the
// helper, over a folder. Actors are processes of this host. What is left ends with it.
class FakeRay {
 public:
  FakeRay() {
    std::string name = (std::filesystem::temp_directory_path() / "fake-ray-XXXXXX").string();
    folder_ = ::mkdtemp(name.data());
    std::filesystem::create_directory(folder_ / "actors");
    Behave("run");
    Write("python", "#!/bin/sh\nexec /usr/bin/python3 -P " HEADRACE_SOURCE_DIR
                    "/tests/support/servers/fake_ray.py " +
                        folder_.string() + " \"$@\"");
    ::chmod((folder_ / "python").c_str(), 0700);
  }
  FakeRay(const FakeRay&) = delete;
  FakeRay& operator=(const FakeRay&) = delete;
  ~FakeRay() {
    for (const std::string& actor : Actors()) {
      if (const int pid = PidOf(actor); pid > 0) (void)::kill(pid, SIGKILL);
    }
    std::error_code ignored;
    std::filesystem::remove_all(folder_, ignored);
  }

  [[nodiscard]] std::string python() const { return (folder_ / "python").string(); }
  // "run"; "queue": no actor starts; "limit N": so many run, and others are queued; "forbid"; "down":
  // there is no cluster.
  void Behave(const std::string& how) { Write("behaviour", how); }
  // As where a helper is killed.
  void EndHelpers() { Write("end", ""); }
  // The actor's node is to be given back.
  void Drain(const std::string& actor) { Write("drain." + actor, ""); }
  [[nodiscard]] std::vector<std::string> Actors() const {
    std::vector<std::string> names;
    for (const auto& each : std::filesystem::directory_iterator(folder_ / "actors")) {
      names.push_back(each.path().filename().string());
    }
    std::ranges::sort(names);
    return names;
  }
  // 0: it is queued.
  [[nodiscard]] int PidOf(const std::string& actor) const {
    return std::atoi(Read("actors/" + actor).c_str());
  }
  // One line each: what helpers were told at first, and their orders.
  [[nodiscard]] std::vector<std::string> Settings() const { return Lines("settings.log"); }
  [[nodiscard]] std::vector<std::string> Orders() const { return Lines("orders.log"); }

 private:
  [[nodiscard]] std::vector<std::string> Lines(const std::string& file) const {
    std::istringstream text(Read(file));
    std::vector<std::string> lines;
    for (std::string line; std::getline(text, line);) lines.push_back(line);
    return lines;
  }
  [[nodiscard]] std::string Read(const std::string& file) const {
    std::ifstream in(folder_ / file);
    std::ostringstream text;
    text << in.rdbuf();
    return text.str();
  }
  void Write(const std::string& file, const std::string& text) const {
    std::ofstream(folder_ / file) << text << '\n';
  }

  std::filesystem::path folder_;
};

}  // namespace headrace::coordinator
