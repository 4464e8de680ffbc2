#include "dataworker/stage/confine/rights.h"

#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdint>

namespace headrace::dataworker {
namespace {

struct Capabilities {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  std::array<__user_cap_data_struct, _LINUX_CAPABILITY_U32S_3> words{};
  [[nodiscard]] bool Read() { return ::syscall(SYS_capget, &header, words.data()) == 0; }
  [[nodiscard]] bool Write() { return ::syscall(SYS_capset, &header, words.data()) == 0; }
};

}  // namespace

Result<Identity> IdentityOf(const std::string& name) {
  if (name.empty()) return Identity{::geteuid(), ::getegid()};
  errno = 0;
  const passwd* user = ::getpwnam(name.c_str());
  if (user == nullptr) return NotFound("this host has no user " + name);
  const Identity who{user->pw_uid, user->pw_gid};
  if (who.user == ::geteuid()) return who;
  if (::initgroups(name.c_str(), who.group) != 0) return ErrnoStatus(errno, "groups of " + name);
  return who;
}

Status Become(const Identity& who) {
  Capabilities had;
  if (!had.Read()) return ErrnoStatus(errno, "capget");
  if (::setresgid(who.group, who.group, who.group) != 0) return ErrnoStatus(errno, "setresgid");
  // Also where it seems to be that user: a namespace calls all that it does not know "nobody".
  if (::prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) != 0) return ErrnoStatus(errno, "PR_SET_KEEPCAPS");
  if (::setresuid(who.user, who.user, who.user) != 0) return ErrnoStatus(errno, "setresuid");
  if (!had.Write()) return ErrnoStatus(errno, "capset");
  return {};
}

Status KeepCapabilities(std::span<const int> kept) {
  if (::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) {
    return ErrnoStatus(errno, "PR_SET_NO_NEW_PRIVS");
  }
  Capabilities now;
  if (!now.Read()) return ErrnoStatus(errno, "capget");
  std::uint64_t mask = 0;
  for (const int capability : kept) mask |= std::uint64_t{1} << capability;
  // Without the right to narrow this bound it does not matter: no_new_privs holds.
  for (int capability = 0; ::prctl(PR_CAPBSET_READ, capability, 0, 0, 0) >= 0; ++capability) {
    if ((mask >> capability & 1) == 0) ::prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
  }
  for (std::size_t i = 0; i < now.words.size(); ++i) {
    const auto word = static_cast<std::uint32_t>(mask >> (32 * i));
    now.words[i].permitted &= word;
    now.words[i].effective &= word;
    now.words[i].inheritable = 0;  // and no ambient ones, which need it
  }
  if (!now.Write()) return ErrnoStatus(errno, "capset");
  return {};
}

}  // namespace headrace::dataworker
