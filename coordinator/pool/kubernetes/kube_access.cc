#include "coordinator/pool/kubernetes/kube_access.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>

#include "base/unique_fd.h"

namespace headrace::coordinator {
namespace {

constexpr char kAccount[] = "/var/run/secrets/kubernetes.io/serviceaccount/";
constexpr std::size_t kMostTokenBytes = std::size_t{64} << 10;

Result<std::string> ReadSmallFile(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return ErrnoStatus(errno, path);
  std::string text;
  std::array<char, 4096> buffer{};
  for (;;) {
    const ssize_t got = ::read(file.get(), buffer.data(), buffer.size());
    if (got < 0) return ErrnoStatus(errno, path);
    if (got == 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
    if (text.size() > kMostTokenBytes) return InvalidArgument(path + " is too large");
  }
  while (!text.empty() && std::isspace(static_cast<unsigned char>(text.back())) != 0) {
    text.pop_back();
  }
  return text;
}

bool IsThisHost(std::string_view server) {
  for (const std::string_view host : {"http://127.0.0.1", "http://[::1]", "http://localhost"}) {
    if (!server.starts_with(host)) continue;
    const std::string_view rest = server.substr(host.size());
    if (rest.empty() || rest.front() == ':') return true;
  }
  return false;
}

}  // namespace

Result<KubeAccess> KubeAccess::Find(KubeAccess given,
                                    const std::function<std::string(const char*)>& variable) {
  const bool in_pod = given.server.empty();
  if (in_pod) {
    std::string host = variable("KUBERNETES_SERVICE_HOST");
    const std::string port = variable("KUBERNETES_SERVICE_PORT");
    if (host.empty() || port.empty()) {
      return InvalidArgument(
          "this is no Pod of Kubernetes (KUBERNETES_SERVICE_HOST is not set): give "
          "--kubernetes-server, --kubernetes-ca-file and --kubernetes-token-file");
    }
    if (host.find(':') != std::string::npos) host = "[" + host + "]";
    given.server = "https://" + host + ":" + port;
    if (given.ca_file.empty()) given.ca_file = std::string(kAccount) + "ca.crt";
    if (given.token_file.empty()) given.token_file = std::string(kAccount) + "token";
  }
  while (given.server.ends_with('/')) given.server.pop_back();
  const bool is_safe = given.server.starts_with("https://") || IsThisHost(given.server);
  const bool is_plain = std::ranges::all_of(
      given.server, [](unsigned char c) { return c > ' ' && c < 127 && c != '@' && c != '?'; });
  if (!is_safe || !is_plain) {
    return InvalidArgument(
        "--kubernetes-server is https://HOST:PORT, or http:// on this host for kubectl proxy");
  }
  if (given.name_space.empty() && in_pod) {
    if (Result<std::string> own = ReadSmallFile(std::string(kAccount) + "namespace"); own.ok()) {
      given.name_space = *std::move(own);
    }
  }
  if (given.name_space.empty()) given.name_space = "default";
  if (!IsKubeName(given.name_space)) {
    return InvalidArgument("--kubernetes-namespace is no name of a namespace");
  }
  return given;
}

Result<std::string> KubeAccess::ReadToken() const {
  if (token_file.empty()) return std::string();
  HR_TRY(std::string token, ReadSmallFile(token_file));
  const bool is_one = !token.empty() && std::ranges::all_of(token, [](unsigned char c) {
    return c > ' ' && c < 127;
  });
  if (!is_one) return InvalidArgument(token_file + " holds no token");
  return token;
}

std::string KubeAccess::Pods(std::string_view name) const {
  std::string url = Url("/api/v1/namespaces/" + name_space + "/pods");
  if (!name.empty()) url.append("/").append(name);
  return url;
}

std::string KubeAccess::Apps(std::string_view kind, std::string_view name) const {
  return Url("/apis/apps/v1/namespaces/" + name_space + "/").append(kind).append("/").append(name);
}

bool IsKubeName(std::string_view text) {
  const auto is_word = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); };
  return !text.empty() && text.size() <= 253 && is_word(text.front()) && is_word(text.back()) &&
         std::ranges::all_of(text, [&](char c) { return is_word(c) || c == '-' || c == '.'; });
}

std::string QueryText(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  std::string coded;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || c == '-' || c == '.' || c == '_' || c == '~') {
      coded += c;
    } else {
      coded += '%';
      coded += kDigits[byte >> 4];
      coded += kDigits[byte & 15];
    }
  }
  return coded;
}

}  // namespace headrace::coordinator
