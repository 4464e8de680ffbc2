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
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "base/secret.h"
#include "base/unique_fd.h"
#include "net/exposure.h"
#include "net/intake.h"
#include "web/connection_counts.h"

namespace headrace::web {
namespace {

// A browser has up to six, one of which is a stream; a proxy has all of its browsers'.
constexpr unsigned kMostConnections = 256;
constexpr unsigned kMostOfOneAddress = 128;
// Of answers that their peers have not read: /metrics of a coordinator with 10,000 workers has 30 MB.
constexpr std::size_t kMostUnread = std::size_t{256} << 20;
constexpr std::size_t kStreamBlock = std::size_t{32} << 10;
constexpr std::size_t kMostOfRequest = std::size_t{16} << 10;
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

struct StopDaemon {
  void operator()(MHD_Daemon* daemon) const { ::MHD_stop_daemon(daemon); }
};

class MicroConnection final : public HttpConnection {
 public:
  explicit MicroConnection(MHD_Connection* connection) : connection_(connection) {}
  void Pause() override { ::MHD_suspend_connection(connection_); }
  void Resume() override { ::MHD_resume_connection(connection_); }

 private:
  MHD_Connection* const connection_;
};

// What microhttpd reads an answer from, until it lets go of it.
struct Streaming {
  MicroConnection connection;
  std::unique_ptr<HttpStream> stream;

  static ssize_t Read(void* self, std::uint64_t /*at*/, char* into, std::size_t most) {
    auto& own = *static_cast<Streaming*>(self);
    const auto got = own.stream->Read(own.connection, {into, most});
    return got ? static_cast<ssize_t>(*got) : ssize_t{MHD_CONTENT_READER_END_OF_STREAM};
  }
  static void Free(void* self) { delete static_cast<Streaming*>(self); }
};
struct Unread {
  std::shared_ptr<const std::string> body;
  std::size_t* total;  // on the server's thread alone

  static void Free(void* self) {
    const std::unique_ptr<Unread> own(static_cast<Unread*>(self));
    *own->total -= own->body->size();
  }
};

std::string_view HeaderOf(MHD_Connection* connection, const char* name) {
  const char* const value = ::MHD_lookup_connection_value(connection, MHD_HEADER_KIND, name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

std::string PeerAddress(MHD_Connection* connection) {
  const MHD_ConnectionInfo* const info =
      ::MHD_get_connection_info(connection, MHD_CONNECTION_INFO_CLIENT_ADDRESS);
  if (info == nullptr || info->client_addr == nullptr) return {};
  const auto bytes = [](const auto& address) {
    return std::string(reinterpret_cast<const char*>(&address), sizeof(address));
  };
  if (info->client_addr->sa_family == AF_INET6) {
    return bytes(reinterpret_cast<const sockaddr_in6*>(info->client_addr)->sin6_addr);
  }
  return bytes(reinterpret_cast<const sockaddr_in*>(info->client_addr)->sin_addr);
}

class MicroHttpServer final : public HttpServer {
 public:
  MicroHttpServer(HttpOptions options, HttpRoutes routes)
      : options_(std::move(options)), routes_(std::move(routes)) {}

  Status Open() {
    HR_TRY(const Address address, Parse(options_.address));
    if (!options_.token_file.empty()) {
      HR_RETURN_IF_ERROR(ReadWord(options_.token_file).status());
    } else if (!net::IsLocalEndpoint("tcp://" + options_.address)) {
      return InvalidArgument(
          "other hosts reach " + options_.address +
          " and would see all jobs; give --http-token-file FILE, or an address of "
          "the loopback interface");
    }
    HR_TRY(listener_, Listen(address, options_.address));
    HR_TRY(const std::string port, PortOf(listener_.get()));
    daemon_.reset(::MHD_start_daemon(
        MHD_USE_EPOLL_INTERNAL_THREAD | MHD_ALLOW_SUSPEND_RESUME, 0, nullptr, nullptr, &OnRequest,
        this, MHD_OPTION_LISTEN_SOCKET, listener_.get(), MHD_OPTION_CONNECTION_LIMIT,
        kMostConnections, MHD_OPTION_PER_IP_CONNECTION_LIMIT, kMostOfOneAddress,
        MHD_OPTION_CONNECTION_MEMORY_LIMIT, kMostOfRequest, MHD_OPTION_CONNECTION_TIMEOUT,
        options_.silence_s, MHD_OPTION_STRICT_FOR_CLIENT, 1, MHD_OPTION_NOTIFY_CONNECTION,
        &OnConnection, this, MHD_OPTION_EXTERNAL_LOGGER, &Silent, nullptr, MHD_OPTION_END));
    if (!daemon_) return Unavailable("--http " + options_.address + ": " + std::strerror(errno));
    (void)listener_.release();  // the daemon closes it
    address_ = options_.address.substr(0, options_.address.rfind(':') + 1) + port;
    return Status::Ok();
  }

  [[nodiscard]] const std::string& address() const override { return address_; }

 private:
  static void Silent(void* /*self*/, const char* /*format*/, va_list /*values*/) {}

  static void OnConnection(void* self, MHD_Connection* connection, void** /*kept*/,
                           MHD_ConnectionNotificationCode what) {
    ConnectionCounts& counts = static_cast<MicroHttpServer*>(self)->counts_;
    if (what == MHD_CONNECTION_NOTIFY_STARTED) {
      counts.Began(PeerAddress(connection));
    } else {
      counts.Ended(PeerAddress(connection));
    }
  }

  // microhttpd calls it when the head of a request is there, with its body, and at its end.
  static MHD_Result OnRequest(void* self, MHD_Connection* connection, const char* path,
                              const char* method, const char* /*version*/, const char* /*body*/,
                              std::size_t* body_size, void** seen) {
    if (*body_size > 0) return MHD_NO;  // closes the connection
    if (*seen == nullptr) {
      *seen = self;  // the head: a refusal could be sent now, an answer at the end
      return MHD_YES;
    }
    auto& own = *static_cast<MicroHttpServer*>(self);
    return own.Send(connection, own.Answer(connection, path, method));
  }

  MHD_Result Send(MHD_Connection* connection, HttpAnswer answer) {
    MHD_Response* response = nullptr;
    if (answer.stream) {
      auto* const streaming = new Streaming{MicroConnection(connection), std::move(answer.stream)};
      response = ::MHD_create_response_from_callback(MHD_SIZE_UNKNOWN, kStreamBlock,
                                                     &Streaming::Read, streaming, &Streaming::Free);
      if (response == nullptr) Streaming::Free(streaming);
    } else {
      response = Whole(answer);
    }
    if (response == nullptr) return MHD_NO;
    ::MHD_add_response_header(response, "Content-Type", answer.type.c_str());
    ::MHD_add_response_header(response, "Cache-Control", answer.caching.c_str());
    ::MHD_add_response_header(response, "X-Content-Type-Options", "nosniff");
    if (counts_.Crowded(PeerAddress(connection))) {
      ::MHD_add_response_header(response, "Connection", "close");
    }
    for (const auto& [name, value] : answer.headers) {
      ::MHD_add_response_header(response, name.c_str(), value.c_str());
    }
    const MHD_Result sent =
        ::MHD_queue_response(connection, static_cast<unsigned>(answer.status), response);
    ::MHD_destroy_response(response);
    return sent;
  }

  MHD_Response* Whole(HttpAnswer& answer) {
    if (!answer.shared) answer.shared = std::make_shared<const std::string>(std::move(answer.body));
    if (unread_ > 0 && unread_ + answer.shared->size() > kMostUnread) {
      answer = {MHD_HTTP_SERVICE_UNAVAILABLE, "too much is being sent\n"};
      answer.shared = std::make_shared<const std::string>(std::move(answer.body));
    }
    unread_ += answer.shared->size();
    auto* const unread = new Unread{answer.shared, &unread_};
    MHD_Response* const response = ::MHD_create_response_from_buffer_with_free_callback_cls(
        answer.shared->size(), const_cast<char*>(answer.shared->data()), &Unread::Free, unread);
    if (response == nullptr) Unread::Free(unread);
    return response;
  }

  HttpAnswer Answer(MHD_Connection* connection, std::string_view path, std::string_view method) {
    HttpRequest request{.path = path, .method = method};
    const HttpRoute* const route = FindRoute(routes_, path, request.rest);
    if ((route == nullptr || !route->open) && !MayAsk(connection)) {
      return {MHD_HTTP_UNAUTHORIZED,
              "a token is wanted\n",
              "text/plain; charset=utf-8",
              {{"WWW-Authenticate", "Bearer"}}};
    }
    if (route == nullptr) return {MHD_HTTP_NOT_FOUND, "no such page\n"};
    const bool reads = method == "GET" || method == "HEAD";
    const auto& asked = method == "POST" ? route->post : route->answer;
    if (!asked || !(reads || method == "POST")) {
      std::string allowed = route->answer ? "GET, HEAD" : "";
      if (route->post) allowed += allowed.empty() ? "POST" : ", POST";
      return {MHD_HTTP_METHOD_NOT_ALLOWED,
              "allowed: " + allowed + "\n",
              "text/plain; charset=utf-8",
              {{"Allow", allowed}}};
    }
    request.host = HeaderOf(connection, "Host");
    request.origin = HeaderOf(connection, "Origin");
    request.fetch_site = HeaderOf(connection, "Sec-Fetch-Site");
    request.admin = HeaderOf(connection, "X-Headrace-Admin");
    request.if_none_match = HeaderOf(connection, "If-None-Match");
    return asked(request);
  }

  bool MayAsk(MHD_Connection* connection) const {
    if (options_.token_file.empty()) return true;
    const std::string_view given = HeaderOf(connection, "Authorization");
    if (!given.starts_with(kBearer)) return false;
    const Result<std::string> token = ReadWord(options_.token_file);
    return token.ok() && SameSecret(*token, given.substr(kBearer.size()));
  }

  const HttpOptions options_;
  const HttpRoutes routes_;
  std::string address_;
  std::size_t unread_ = 0;                                        // bytes; on the server's thread
  ConnectionCounts counts_{kMostConnections, kMostOfOneAddress};  // on the server's thread
  UniqueFd listener_;                                             // until the daemon has it
  std::unique_ptr<MHD_Daemon, StopDaemon> daemon_;  // ends first: its thread uses all else
};

}  // namespace

Result<std::string> ReadWord(const std::string& path) {
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
  std::string word(text.data(), static_cast<std::size_t>(got));
  word = word.substr(0, word.find_first_of("\r\n"));
  if (word.empty()) return InvalidArgument("the token file " + path + " is empty");
  return word;
}

Result<std::unique_ptr<HttpServer>> HttpServer::Start(HttpOptions options, HttpRoutes routes) {
  auto server = std::make_unique<MicroHttpServer>(std::move(options), std::move(routes));
  HR_RETURN_IF_ERROR(server->Open());
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace headrace::web
