#include "net/keyring.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zmq.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <sstream>
#include <vector>

#include "base/log.h"
#include "base/process/private_directory.h"
#include "base/unique_fd.h"
#include "net/key_files_internal.h"

namespace headrace::net {
namespace {

constexpr std::size_t kKeyText = 40;  // Z85 of 32 bytes
constexpr std::size_t kMostBytes = std::size_t{1} << 20;

Status CheckCurve() {
  if (zmq_has("curve") == 1) return {};
  return Unsupported(
      "this libzmq was built without CURVE (libsodium), so keys cannot be used; install Debian's "
      "libzmq5");
}

bool IsKey(const std::string& text) {
  std::array<std::uint8_t, 32> raw{};
  return text.size() == kKeyText && zmq_z85_decode(raw.data(), text.c_str()) != nullptr;
}

// What tells one state of a file from another.
std::string StampOf(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0) return {};
  std::ostringstream stamp;
  stamp << info.st_ino << ' ' << info.st_size << ' ' << info.st_mode << ' ' << info.st_uid << ' '
        << info.st_mtim.tv_sec << ' ' << info.st_mtim.tv_nsec;
  return stamp.str();
}

Result<std::string> Read(KeyPart part, const std::string& path) {
  // O_NONBLOCK: a pipe is refused and not waited for.
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (!fd.valid() || ::fstat(fd.get(), &info) != 0) return ErrnoStatus(errno, path);
  HR_RETURN_IF_ERROR(JudgeKeyPart(part, path, info.st_mode, info.st_uid, ::geteuid()));
  std::string text(std::min<std::size_t>(static_cast<std::size_t>(info.st_size), kMostBytes), '\0');
  const ssize_t got = ::read(fd.get(), text.data(), text.size());
  if (got < 0) return ErrnoStatus(errno, path);
  text.resize(static_cast<std::size_t>(got));
  return text;
}

Status WriteOwn(const std::string& path, const std::string& text) {
  const UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!fd.valid()) {
    return errno == EEXIST ? InvalidArgument(path +
                                             " is there already; keys are never replaced, "
                                             "name another directory")
                           : ErrnoStatus(errno, path);
  }
  if (::write(fd.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    return ErrnoStatus(errno, path);
  }
  return {};
}

std::string KeyFile(const std::string& directory, wire::Role role) {
  return directory + "/" + std::string(wire::RoleName(role)) + ".key";
}

}  // namespace

Status WriteKeys(const std::string& directory) {
  HR_RETURN_IF_ERROR(CheckCurve());
  HR_RETURN_IF_ERROR(MakePrivateDirectory(directory));
  std::string allow = "# Who is admitted. A line without its # goes out of use at once.\n";
  for (const wire::Role role : wire::kKeyRoles) {
    std::array<char, kKeyText + 1> open{};
    std::array<char, kKeyText + 1> secret{};
    if (zmq_curve_keypair(open.data(), secret.data()) != 0) return ErrnoStatus(errno, "a key pair");
    HR_RETURN_IF_ERROR(
        WriteOwn(KeyFile(directory, role), std::string(open.data()) + " " + secret.data() + "\n"));
    allow.append(wire::RoleName(role)).append(" ").append(open.data()).append("\n");
  }
  return WriteOwn(directory + "/allow", allow);
}

Result<Keyring::Allowed> Keyring::ReadAllowed(const std::string& path) {
  HR_TRY(const std::string text, Read(KeyPart::kAllow, path));
  Allowed allowed;
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.empty() || line.starts_with('#')) continue;
    std::istringstream words(line);
    std::string name;
    std::string key;
    words >> name >> key;
    const std::optional<wire::Role> role = wire::ParseRole(name);
    if (!role || !IsKey(key)) {
      return InvalidArgument(path + ":" + std::to_string(number) +
                             ": write ROLE PUBLIC-KEY, with a role of coordinator, worker, "
                             "trainer, admin, observer");
    }
    allowed.roles.insert_or_assign(key, *role);
    allowed.first.emplace(*role, key);
  }
  return allowed;
}

Result<std::shared_ptr<Keyring>> Keyring::Open(const std::string& directory,
                                               std::initializer_list<wire::Role> roles) {
  HR_RETURN_IF_ERROR(CheckCurve());
  struct stat info {};
  if (::stat(directory.c_str(), &info) != 0) {
    return ErrnoStatus(errno, directory).WithContext("keys; make them with `headrace keys DIR`");
  }
  HR_RETURN_IF_ERROR(
      JudgeKeyPart(KeyPart::kDirectory, directory, info.st_mode, info.st_uid, ::geteuid()));
  std::string wanted;
  for (const wire::Role role : roles) {
    const std::string path = KeyFile(directory, role);
    wanted.append(wanted.empty() ? "" : " or ").append(path);
    if (::access(path.c_str(), F_OK) != 0) continue;
    HR_TRY(const std::string text, Read(KeyPart::kSecret, path));
    std::shared_ptr<Keyring> keys(new Keyring(directory, role));
    std::istringstream words(text);
    words >> keys->public_key_ >> keys->secret_key_;
    std::array<char, kKeyText + 1> derived{};
    if (!IsKey(keys->public_key_) || !IsKey(keys->secret_key_) ||
        zmq_curve_public(derived.data(), keys->secret_key_.c_str()) != 0 ||
        keys->public_key_ != derived.data()) {
      return InvalidArgument(path + " holds no key pair");
    }
    keys->stamp_ = StampOf(directory + "/allow");
    HR_TRY(keys->allowed_, ReadAllowed(directory + "/allow"));
    return keys;
  }
  return NotFound("no key there: " + wanted + "; copy it from where `headrace keys` made it");
}

void Keyring::Refresh() {
  const std::string path = directory_ + "/allow";
  std::string now = StampOf(path);
  if (now == stamp_) return;
  stamp_ = std::move(now);
  Result<Allowed> read = ReadAllowed(path);
  if (!read.ok()) LogWarning("nobody is admitted: " + read.status().message());
  allowed_ = read.ok() ? std::move(read).value() : Allowed{};
}

std::string Keyring::ServerKey(wire::Role server) {
  const std::lock_guard lock(mutex_);
  Refresh();
  const auto found = allowed_.first.find(server);
  return found == allowed_.first.end() ? std::string() : found->second;
}

std::optional<wire::Role> Keyring::Admitted(std::string_view public_key) {
  const std::lock_guard lock(mutex_);
  Refresh();
  const auto found = allowed_.roles.find(public_key);
  if (found == allowed_.roles.end()) return std::nullopt;
  return found->second;
}

Result<std::unique_ptr<Reactor>> MakeKeyedReactor(std::string name, const std::string& directory,
                                                  std::initializer_list<wire::Role> roles) {
  std::shared_ptr<Keyring> keys;
  if (!directory.empty()) {
    HR_TRY(keys, Keyring::Open(directory, roles));
  }
  return Reactor::Make(std::move(name), Clock::Real(), MakeContext(1, std::move(keys)));
}

}  // namespace headrace::net
