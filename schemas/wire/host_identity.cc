#include "schemas/wire/host_identity.h"

#include <sys/utsname.h>
#include <unistd.h>

#include <fstream>

namespace headrace::wire {

HostIdentity ReadHostIdentity() {
  HostIdentity host;
  utsname names{};
  if (::uname(&names) == 0) host.hostname = names.nodename;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> host.boot_id;
  host.uid = ::getuid();
  host.pid = ::getpid();
  return host;
}

}  // namespace headrace::wire
