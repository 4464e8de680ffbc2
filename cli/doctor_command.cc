#include <arpa/inet.h>
#include <netdb.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "base/unique_fd.h"
#include "base/version.h"
#include "cli/commands.h"
#include "cli/doctor.h"
#include "cli/options.h"
#include "cli/query.h"
#include "coordinator/pool/kubernetes/kube_rights.h"
#include "schemas/wire/host_identity.h"

namespace headrace::cli {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kPatienceMs = 3000;
constexpr std::string_view kTcp = "tcp://", kIpc = "ipc://";

// 0, or the errno.
int Connect(int fd, const sockaddr* at, socklen_t size) {
  if (::connect(fd, at, size) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd waits{fd, POLLOUT, 0};
  if (::poll(&waits, 1, kPatienceMs) == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof(error);
  ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length);
  return error;
}

Status ReachTcp(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  std::string host = address.substr(kTcp.size(), colon - kTcp.size());
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int unknown = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &wanted, &found);
  if (unknown != 0) return NotFound(address + ": " + ::gai_strerror(unknown));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int error = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const UniqueFd fd(::socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!fd.valid()) {
      error = errno;
      continue;
    }
    error = Connect(fd.get(), at->ai_addr, at->ai_addrlen);
    if (error == 0) return Status::Ok();
  }
  return Unavailable(address + ": " + std::strerror(error));
}

Status ReachUnix(const std::string& address) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  const std::string path = address.substr(kIpc.size());
  if (path.size() >= sizeof(at.sun_path)) return InvalidArgument(address + ": too long");
  std::memcpy(at.sun_path, path.data(), path.size());
  const UniqueFd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int error = Connect(fd.get(), reinterpret_cast<const sockaddr*>(&at), sizeof(at));
  return error == 0 ? Status::Ok() : Unavailable(address + ": " + std::strerror(error));
}

Reached Reach(const std::string& address) {
  Reached reached{address, {}, 0};
  const auto begin = Clock::now();
  reached.status = address.starts_with(kTcp) ? ReachTcp(address) : ReachUnix(address);
  reached.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return reached;
}

Observed Observe(const std::string& address) {
  Observed seen;
  seen.host = wire::ReadHostIdentity().hostname;
  seen.version = std::string(kVersion);
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  seen.open_files = files.rlim_max;  // our programs raise their own limit that far
  seen.address = address;
  if (address.empty()) return seen;
  seen.coordinator = Reach(address);
  if (!seen.coordinator.status.ok()) return seen;
  seen.status.emplace(QueryStatus(address));
  if (!seen.status->ok()) return seen;
  for (const wire::WorkerStatus& worker : (*seen.status)->workers) {
    std::vector<Reached> tried;
    for (const std::string& endpoint : worker.info.endpoints) {
      // A Unix socket of another host is none here.
      const bool here = worker.info.host.hostname == seen.host;
      if (worker.state == "ready" && (here || endpoint.starts_with(kTcp))) {
        tried.push_back(Reach(endpoint));
        if (tried.back().status.ok()) break;
      } else {
        tried.push_back({endpoint, Unavailable(endpoint + " is of another host"), 0});
      }
    }
    seen.workers.push_back(std::move(tried));
  }
  return seen;
}

Result<std::vector<std::string>> AskKubernetes(const coordinator::KubeAccess& given) {
  HR_TRY(const coordinator::KubeAccess access,
         coordinator::KubeAccess::Find(given, [](const char* name) {
           const char* const value = std::getenv(name);
           return std::string(value == nullptr ? "" : value);
         }));
  return coordinator::MissingPodVerbs(access, std::chrono::milliseconds(kPatienceMs));
}

int Examine(const std::string& option, bool json,
            const std::optional<coordinator::KubeAccess>& kubernetes) {
  std::string address;
  if (const Result<std::string> named = CoordinatorAddress(option); named.ok()) {
    address = *named;
  } else if (!option.empty()) {
    return Fail(named.status());
  }
  Observed seen = Observe(address);
  if (kubernetes) seen.missing_verbs.emplace(AskKubernetes(*kubernetes));
  const std::vector<Finding> findings = Diagnose(seen);
  std::fputs((json ? FindingsJson(findings) : FindingsText(findings)).c_str(), stdout);
  const auto bad = [](const Finding& one) { return one.level == Finding::Level::kProblem; };
  return std::ranges::any_of(findings, bad) ? 1 : 0;
}

}  // namespace

void AddDoctor(CLI::App& app, Action& chosen) {
  struct Options {
    std::string address;
    bool json = false;
    bool kubernetes = false;
    coordinator::KubeAccess access;
  };
  auto options = std::make_shared<Options>();
  CLI::App* command = app.add_subcommand(
      "doctor", "What stands between this host and a pool, and what to do about it");
  AddCoordinatorAddress(*command, options->address);
  command->add_flag("--json", options->json, "As JSON");
  command->add_flag("--kubernetes", options->kubernetes,
                    "Also whether this account may make workers as Pods of Kubernetes");
  const auto access = [&](const char* name, std::string& value, const char* help) {
    command->add_option(name, value, help)->type_name("TEXT")->needs("--kubernetes");
  };
  access("--kubernetes-server", options->access.server, "As of headrace coordinator");
  access("--kubernetes-ca-file", options->access.ca_file, "As of headrace coordinator");
  access("--kubernetes-token-file", options->access.token_file, "As of headrace coordinator");
  access("--kubernetes-namespace", options->access.name_space, "As of headrace coordinator");
  command->footer(
      "Run it where a training program shall run, and with --kubernetes in the coordinator's Pod. "
      "Status 1: there is a problem.");
  command->callback([&chosen, options] {
    chosen = [options] {
      return Examine(options->address, options->json,
                     options->kubernetes ? std::optional(options->access) : std::nullopt);
    };
  });
}

}  // namespace headrace::cli
