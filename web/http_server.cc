#include "web/http_server.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <microhttpd.h>
#include <netdb.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/secret.h"
#include "base/unique_fd.h"
#include "net/exposure.h"
#include "net/intake.h"

namespace headrace::web {
namespace {

// Each may hold a page that its peer does not read: 30 MB of a coordinator with 10,000 workers.
constexpr unsigned kMostConnections = 16;
constexpr unsigned kMostOfOneAddress = 8;
constexpr std::size_t kMostOfRequest = std::size_t{16} << 10;
constexpr unsigned kSilence = 10;  // s
constexpr std::size_t kMostToken = 4096;
constexpr std::string_view kBearer = "Bearer ";

struct Address {
  sockaddr_storage at{};
  socklen_t size = 0;
};

Result<Address> Parse(const std::string& text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || colon + 1 == text.size()) {
    return InvalidArgument("--http wants HOST:PORT, not " + text);
  }
  std::string host = text.substr(0, colon);
  if (host.starts_with('[') && host.ends_with(']')) host = host.substr(1, host.size() - 2);
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), text.c_str() + colon + 1, &wanted, &found);
  if (error != 0) return InvalidArgument("--http " + text + ": " + ::gai_strerror(error));
  Address address;
  std::memcpy(&address.at, found->ai_addr, found->ai_addrlen);
  address.size = found->ai_addrlen;
  ::freeaddrinfo(found);
  return address;
}

Result<UniqueFd> Listen(const Address& address, const std::string& text) {
  UniqueFd fd(::socket(address.at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  const int yes = 1;
  if (!fd.valid() || ::setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes)) != 0 ||
      ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.at), address.size) != 0 ||
      ::listen(fd.get(), kMostConnections) != 0) {
    return Unavailable("--http " + text + ": " + std::strerror(errno));
  }
  net::Intake::Process().Overlook(fd.get());  // microhttpd bounds what comes
  return fd;
}

Result<std::string> PortOf(int listener) {
  sockaddr_storage at{};
  socklen_t size = sizeof(at);
  if (::getsockname(listener, reinterpret_cast<sockaddr*>(&at), &size) != 0) {
    return ErrnoStatus(errno, "getsockname");
  }
  const in_port_t port = at.ss_family == AF_INET6
                             ? reinterpret_cast<const sockaddr_in6*>(&at)->sin6_port
                             : reinterpret_cast<const sockaddr_in*>(&at)->sin_port;
  return std::to_string(ntohs(port));
}

// Its first line.
Result<std::string> ReadToken(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY));
  if (!file.valid()) return ErrnoStatus(errno, "token file " + path);
  struct stat info {};
  if (::fstat(file.get(), &info) != 0) return ErrnoStatus(errno, "token file " + path);
  if ((info.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    return InvalidArgument("others may read the token file " + path + "; chmod 600 it");
  }
  std::array<char, kMostToken> text{};
  const ssize_t got = ::read(file.get(), text.data(), text.size());
  if (got < 0) return ErrnoStatus(errno, "token file " + path);
  std::string token(text.data(), static_cast<std::size_t>(got));
  token = token.substr(0, token.find_first_of("\r\n"));
  if (token.empty()) return InvalidArgument("the token file " + path + " is empty");
  return token;
}

struct StopDaemon {
  void operator()(MHD_Daemon* daemon) const { ::MHD_stop_daemon(daemon); }
};

class MicroHttpServer final : public HttpServer {
 public:
  MicroHttpServer(HttpOptions options, std::map<std::string, Page> pages)
      : options_(std::move(options)), pages_(std::move(pages)) {}

  Status Open() {
    HR_TRY(const Address address, Parse(options_.address));
    if (!options_.token_file.empty()) {
      HR_RETURN_IF_ERROR(ReadToken(options_.token_file).status());
    } else if (!net::IsLocalEndpoint("tcp://" + options_.address)) {
      return InvalidArgument(
          "other hosts reach " + options_.address +
          " and would see all jobs; give --http-token-file FILE, or an address of "
          "the loopback interface");
    }
    HR_TRY(listener_, Listen(address, options_.address));
    HR_TRY(const std::string port, PortOf(listener_.get()));
    daemon_.reset(::MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD, 0, nullptr, nullptr, &OnRequest, this,
        MHD_OPTION_LISTEN_SOCKET, listener_.get(), MHD_OPTION_CONNECTION_LIMIT, kMostConnections,
        MHD_OPTION_PER_IP_CONNECTION_LIMIT, kMostOfOneAddress, MHD_OPTION_CONNECTION_MEMORY_LIMIT,
        kMostOfRequest, MHD_OPTION_CONNECTION_TIMEOUT, kSilence, MHD_OPTION_STRICT_FOR_CLIENT, 1,
        MHD_OPTION_EXTERNAL_LOGGER, &Silent, nullptr, MHD_OPTION_END));
    if (!daemon_) return Unavailable("--http " + options_.address + ": " + std::strerror(errno));
    (void)listener_.release();  // the daemon closes it
    address_ = options_.address.substr(0, options_.address.rfind(':') + 1) + port;
    return Status::Ok();
  }

  [[nodiscard]] const std::string& address() const override { return address_; }

 private:
  static void Silent(void* /*self*/, const char* /*format*/, va_list /*values*/) {}

  // microhttpd calls it when the head of a request is there, with its body, and at its end.
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path,
                              const char* method, const char* /*version*/, const char* /*body*/,
                              std::size_t* body_size, void** seen) {
    if (*body_size > 0) return MHD_NO;  // closes the connection
    if (*seen == nullptr) {
      *seen = self;  // the head: a refusal could be sent now, an answer at the end
      return MHD_YES;
    }
    const HttpAnswer answer = static_cast<MicroHttpServer*>(self)->Answer(connection, path, method);
    return Send(connection, answer);
  }

  static MHD_Result Send(MHD_Connection* connection, const HttpAnswer& answer) {
    MHD_Response* const response = ::MHD_create_response_from_buffer(
        answer.body.size(), const_cast<char*>(answer.body.data()), MHD_RESPMEM_MUST_COPY);
    if (response == nullptr) return MHD_NO;
    ::MHD_add_response_header(response, "Content-Type", answer.type.c_str());
    ::MHD_add_response_header(response, "Cache-Control", "no-store");
    ::MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (answer.status == MHD_HTTP_UNAUTHORIZED) {
      ::MHD_add_response_header(response, "WWW-Authenticate", "Bearer");
    }
    if (answer.status == MHD_HTTP_METHOD_NOT_ALLOWED) {
      ::MHD_add_response_header(response, "Allow", "GET, HEAD");
    }
    const MHD_Result sent =
        ::MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
    ::MHD_destroy_response(response);
    return sent;
  }

  HttpAnswer Answer(MHD_Connection* connection, std::string_view path, std::string_view method) {
    if (!MayAsk(connection)) return {MHD_HTTP_UNAUTHORIZED, "a token is wanted\n"};
    const auto page = pages_.find(std::string(path));
    if (page == pages_.end()) return {MHD_HTTP_NOT_FOUND, "no such page\n"};
    if (method != "GET" && method != "HEAD") {
      return {MHD_HTTP_METHOD_NOT_ALLOWED, "this is for reading\n"};
    }
    return page->second();
  }

  bool MayAsk(MHD_Connection* connection) const {
    if (options_.token_file.empty()) return true;
    const char* const given =
        ::MHD_lookup_connection_value(connection, MHD_HEADER_KIND, "Authorization");
    if (given == nullptr || !std::string_view(given).starts_with(kBearer)) return false;
    const Result<std::string> token = ReadToken(options_.token_file);
    return token.ok() && SameSecret(*token, std::string_view(given).substr(kBearer.size()));
  }

  const HttpOptions options_;
  const std::map<std::string, Page> pages_;
  std::string address_;
  UniqueFd listener_;                               // until the daemon has it
  std::unique_ptr<MHD_Daemon, StopDaemon> daemon_;  // ends first: its thread uses all else
};

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Start(HttpOptions options,
                                                      std::map<std::string, Page> pages) {
  auto server = std::make_unique<MicroHttpServer>(std::move(options), std::move(pages));
  HR_RETURN_IF_ERROR(server->Open());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace headrace::web
