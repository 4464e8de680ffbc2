#include "dataworker/stage/confine/file_view.h"

#include <fcntl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <sstream>
#include <system_error>

#include "dataworker/stage/confine/python_places.h"

namespace headrace::dataworker {
namespace {

// glibc has names for these since 2.36, and portable wheels serve hosts with an older one.
int OpenTree(const std::string& path, unsigned flags) {
  return static_cast<int>(::syscall(SYS_open_tree, AT_FDCWD, path.c_str(), flags));
}
int SetMountAttributes(int place, const char* path, unsigned flags, mount_attr attributes) {
  return static_cast<int>(
      ::syscall(SYS_mount_setattr, place, path, flags, &attributes, sizeof(attributes)));
}
int MoveMount(int tree, const std::string& to) {
  return static_cast<int>(::syscall(SYS_move_mount, tree, "", AT_FDCWD, to.c_str(),
                                    static_cast<unsigned>(MOVE_MOUNT_F_EMPTY_PATH)));
}

constexpr int kMostLinks = 40;
constexpr char kFloor[] = "/tmp";  // where the view is built, over what the host has there

// What is a link on hosts with one /usr stays one.
constexpr std::array kSystem = {"/usr",   "/bin",    "/sbin",      "/lib",      "/lib32",
                                "/lib64", "/libx32", "/nix/store", "/gnu/store"};
// Not all of /etc: keys and passwords lie there.
constexpr std::array kShown = {"/etc/alternatives",
                               "/etc/ld.so.cache",
                               "/etc/ld.so.conf",
                               "/etc/ld.so.conf.d",
                               "/etc/ld.so.preload",
                               "/etc/localtime",
                               "/etc/timezone",
                               "/etc/passwd",
                               "/etc/group",
                               "/etc/nsswitch.conf",
                               "/etc/hosts",
                               "/etc/host.conf",
                               "/etc/hostname",
                               "/etc/resolv.conf",
                               "/etc/gai.conf",
                               "/etc/protocols",
                               "/etc/services",
                               "/etc/mime.types",
                               "/etc/fonts",
                               "/etc/locale.alias",
                               "/etc/os-release",
                               "/etc/ssl/certs",
                               "/etc/ssl/openssl.cnf",
                               "/etc/pki/tls/certs",
                               "/etc/pki/tls/cert.pem",
                               "/etc/pki/tls/openssl.cnf",
                               "/etc/pki/ca-trust/extracted",
                               "/etc/ca-certificates",
                               "/etc/ca-certificates.conf",
                               "/etc/crypto-policies",
                               "/sys/devices/system",
                               "/sys/fs/cgroup",
                               "/proc"};
constexpr std::array kDevices = {"/dev/null", "/dev/zero", "/dev/full", "/dev/random",
                                 "/dev/urandom"};
constexpr std::array kOwnDirectories = {"/tmp", "/var/tmp", "/dev/shm"};
struct Link {
  const char* path;
  const char* target;
};
constexpr std::array<Link, 4> kLinks = {{{"/dev/fd", "/proc/self/fd"},
                                         {"/dev/stdin", "/proc/self/fd/0"},
                                         {"/dev/stdout", "/proc/self/fd/1"},
                                         {"/dev/stderr", "/proc/self/fd/2"}}};

// Empty: it is no link.
std::string LinkTarget(const std::string& path) {
  std::error_code none;
  const auto target = std::filesystem::read_symlink(path, none);
  return none ? "" : target.string();
}

std::string RealPath(const std::string& path) {
  const std::unique_ptr<char, decltype(&std::free)> real(::realpath(path.c_str(), nullptr),
                                                         &std::free);
  return real ? real.get() : "";
}

Status WhyNot(const std::string& what) { return Unsupported(ErrnoStatus(errno, what).message()); }

}  // namespace

Result<FileView> FileView::Plan(const std::vector<std::string>& roots, const std::string& python) {
  FileView view;
  for (const std::string& root : roots) view.places_[root] = {.needed = true};
  view.AddSystem();
  if (!python.empty()) {
    HR_TRY(const std::string program, FindProgram(python));
    HR_TRY(const std::vector<std::string> places, PythonPlaces(program));
    view.AddPython(places, std::filesystem::absolute(program).lexically_normal().string());
  }
  // What lies below another place may have been added before it.
  for (auto it = view.places_.begin(); it != view.places_.end();) {
    it = view.Covered(it->first) ? view.places_.erase(it) : std::next(it);
  }
  return view;
}

void FileView::AddSystem() {
  for (const char* path : kSystem) {
    std::string target = LinkTarget(path);
    const Kind kind = target.empty() ? Kind::kTree : Kind::kLink;
    Add(path, {.kind = kind, .target = std::move(target)});
  }
  for (const char* path : kOwnDirectories) Add(path, {.kind = Kind::kOwn});
  for (const char* path : kShown) Add(path, {});
  for (const char* path : kDevices) Add(path, {.kind = Kind::kDevice});
  for (const Link& link : kLinks) Add(link.path, {.kind = Kind::kLink, .target = link.target});
}

void FileView::AddPython(const std::vector<std::string>& places, const std::string& program) {
  std::vector<std::string> all = places;
  const char* libraries = std::getenv("LD_LIBRARY_PATH");
  std::istringstream folders(libraries != nullptr ? libraries : "");
  for (std::string folder; std::getline(folders, folder, ':');) all.push_back(folder);
  for (const std::string& place : all) {
    Add(std::filesystem::path(place).lexically_normal().string(), {});
    Add(RealPath(place), {});
  }
  // The way from the name of the program to its file.
  std::filesystem::path at = program;
  for (int links = 0; links < kMostLinks; ++links) {
    std::string target = LinkTarget(at.string());
    if (target.empty()) break;
    Add(at.string(), {.kind = Kind::kLink, .target = target});
    at = (at.parent_path() / target).lexically_normal();
  }
  Add(at.string(), {});
}

void FileView::Add(const std::string& path, Place place) {
  if (!path.starts_with("/") || path == "/" || Covered(path)) return;
  places_.try_emplace(path, std::move(place));
}

bool FileView::Covered(const std::string& path) const {
  for (std::size_t end = path.rfind('/'); end != 0; end = path.rfind('/', end - 1)) {
    const auto above = places_.find(path.substr(0, end));
    if (above != places_.end()) return above->second.kind != Kind::kOwn;
  }
  return false;
}

std::string FileView::KindAt(const std::string& path) const {
  const auto found = places_.find(path);
  if (found == places_.end()) return "";
  switch (found->second.kind) {
    case Kind::kTree:
      return "tree";
    case Kind::kDevice:
      return "device";
    case Kind::kLink:
      return "link";
    case Kind::kOwn:
      return "own";
  }
  return "";
}

Status FileView::Open() {
  for (auto it = places_.begin(); it != places_.end();) {
    auto& [path, place] = *it;
    if (place.kind == Kind::kLink || place.kind == Kind::kOwn) {
      ++it;
      continue;
    }
    place.tree = UniqueFd(OpenTree(path, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE));
    if (!place.tree.valid()) {
      const bool absent = errno == ENOENT || errno == EACCES || errno == ENOTDIR;
      if (place.needed || !absent) return WhyNot("show " + path);
      it = places_.erase(it);
      continue;
    }
    struct stat st {};
    if (::fstat(place.tree.get(), &st) != 0) return WhyNot("look at " + path);
    place.directory = S_ISDIR(st.st_mode);
    mount_attr attributes{};
    attributes.attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID;
    attributes.attr_set |= place.kind == Kind::kDevice ? MOUNT_ATTR_NOEXEC : MOUNT_ATTR_NODEV;
    if (SetMountAttributes(place.tree.get(), "", AT_EMPTY_PATH | AT_RECURSIVE, attributes) != 0) {
      return WhyNot("make " + path + " read-only");
    }
    ++it;
  }
  return {};
}

Status FileView::Put(const std::string& path, Place& place, std::uint64_t own_bytes) {
  for (std::size_t end = path.find('/', 1); end != std::string::npos;
       end = path.find('/', end + 1)) {
    if (::mkdir(path.substr(1, end - 1).c_str(), 0755) != 0 && errno != EEXIST) {
      return WhyNot("make " + path.substr(0, end));
    }
  }
  const std::string here = path.substr(1);
  if (place.kind == Kind::kLink) {
    return ::symlink(place.target.c_str(), here.c_str()) == 0 ? Status() : WhyNot("link " + path);
  }
  const bool directory = place.kind == Kind::kOwn || place.directory;
  if (directory ? ::mkdir(here.c_str(), 0755) != 0 && errno != EEXIST
                : !UniqueFd(::open(here.c_str(), O_CREAT | O_WRONLY | O_CLOEXEC, 0600)).valid()) {
    return WhyNot("make " + path);
  }
  if (place.kind == Kind::kOwn) {
    std::string settings = "mode=1777";
    if (own_bytes > 0) settings += ",size=" + std::to_string(own_bytes);
    const int mounted =
        ::mount("headrace", here.c_str(), "tmpfs", MS_NOSUID | MS_NODEV, settings.c_str());
    return mounted == 0 ? Status() : WhyNot("make " + path);
  }
  const int moved = MoveMount(place.tree.get(), here);
  place.tree.reset();
  return moved == 0 ? Status() : WhyNot("show " + path);
}

Status FileView::Enter(std::uint64_t own_bytes) {
  if (::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return WhyNot("keep mounts apart");
  }
  HR_RETURN_IF_ERROR(Open());  // all of them, before anything is covered
  if (::mount("headrace", kFloor, "tmpfs", MS_NOSUID | MS_NODEV, "mode=755") != 0 ||
      ::chdir(kFloor) != 0) {
    return WhyNot("make a directory of its own");
  }
  for (auto& [path, place] : places_) HR_RETURN_IF_ERROR(Put(path, place, own_bytes));
  mount_attr attributes{};
  attributes.attr_set = MOUNT_ATTR_RDONLY;
  if (SetMountAttributes(AT_FDCWD, ".", 0, attributes) != 0) {
    return WhyNot("make / read-only");
  }
  // The old root is put over the new one, and goes.
  if (::syscall(SYS_pivot_root, ".", ".") != 0 || ::umount2(".", MNT_DETACH) != 0 ||
      ::chdir("/") != 0) {
    return WhyNot("change the root");
  }
  return {};
}

}  // namespace headrace::dataworker
