#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/unique_fd.h"

namespace headrace::dataworker {

// What a process sees of the host's files instead of all of them:
//
//   read-only    the roots, the interpreter, /usr and its like, what libraries read of /etc and /sys,
//                and /proc
//   its own      /tmp, /var/tmp and /dev/shm, in memory and empty at first; they end with its last
//                process
//   devices      null, zero, full, random, urandom
//
// One thread. Plan, then Enter in a mount namespace of its own.
class FileView {
 public:
  // `roots`: absolute paths. `python`: the interpreter's path; empty: none. Errors of PythonPlaces.
  static Result<FileView> Plan(const std::vector<std::string>& roots, const std::string& python);
  // Changes the namespace of this process, which needs CAP_SYS_ADMIN in it; afterwards "/" is the view,
  // and the working directory. `own_bytes`: most bytes of each directory of its own; 0: as the kernel
  // has it. kUnsupported, with the cause: the kernel or a rule of this host does not let it. After an
  // error the process is of no use.
  Status Enter(std::uint64_t own_bytes);

  // What it will have at the path; for tests. Empty: nothing, or what the directory above has.
  [[nodiscard]] std::string KindAt(const std::string& path) const;

 private:
  enum class Kind { kTree, kDevice, kLink, kOwn };
  struct Place {
    Kind kind = Kind::kTree;
    bool needed = false;  // else it is left out where the host has none
    std::string target;   // of a link
    UniqueFd tree = {};
    bool directory = false;
  };

  void AddSystem();
  void AddPython(const std::vector<std::string>& places, const std::string& program);
  // Adds it unless a directory above it is shown.
  void Add(const std::string& path, Place place);
  // Whether the nearest place above it shows what lies below.
  [[nodiscard]] bool Covered(const std::string& path) const;
  Status Open();
  Status Put(const std::string& path, Place& place, std::uint64_t own_bytes);

  std::map<std::string, Place> places_;  // by path, so each after those above it
};

}  // namespace headrace::dataworker
