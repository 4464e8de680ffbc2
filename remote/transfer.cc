#include "remote/transfer.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <chrono>

#include "base/check.h"
#include "base/version.h"
#include "remote/receive_window.h"

namespace headrace::remote {
namespace {

using Failure = Outcome::Failure;

constexpr std::size_t kMostErrorBytes = 4096;
constexpr int kLeastSegment = 1220, kMostSegment = 32767;  // bytes; the system takes no more
constexpr std::size_t kMostHeadBytes = 65536;

long Millis(Duration duration) {
  return std::max<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count(), 1);
}

template <typename T>
void Set(CURL* handle, CURLoption option, T value) {
  const CURLcode code = curl_easy_setopt(handle, option, value);
  HR_CHECK(code == CURLE_OK);
}

Failure FailureOf(CURLcode code) {
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
      return Failure::kConnect;
    case CURLE_OPERATION_TIMEDOUT:
      return Failure::kTimeout;
    case CURLE_PARTIAL_FILE:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
    case CURLE_SSL_CONNECT_ERROR:
      return Failure::kBroken;
    default:
      return Failure::kOther;
  }
}

}  // namespace

Transfer::Transfer(const Call& call, const EndpointRules& rules, Taker taker)
    : handle_(curl_easy_init()),
      url_(call.url),
      rules_(rules),
      taker_(std::move(taker)),
      receive_buffer_(call.receive_buffer),
      sockets_(call.sockets) {
  HR_CHECK(handle_ != nullptr);
  Set(handle_, CURLOPT_PRIVATE, this);
  Set(handle_, CURLOPT_URL, call.url.Text().c_str());
  Set(handle_, CURLOPT_PATH_AS_IS, 1L);
  Set(handle_, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
  Set(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
  Set(handle_, CURLOPT_FOLLOWLOCATION, 0L);
  Set(handle_, CURLOPT_PROXY, "");
  Set(handle_, CURLOPT_NOSIGNAL, 1L);
  Set(handle_, CURLOPT_NOPROGRESS, 1L);
  Set(handle_, CURLOPT_NOBODY, call.head_only ? 1L : 0L);
  if (!call.body.empty()) {
    Set(handle_, CURLOPT_POSTFIELDSIZE, static_cast<long>(call.body.size()));
    Set(handle_, CURLOPT_COPYPOSTFIELDS, call.body.c_str());
  }
  // Answers on one connection have one buffer, so where that matters each has its own connection.
  const bool shared = receive_buffer_ == 0;
  Set(handle_, CURLOPT_HTTP_VERSION,
      static_cast<long>(shared ? CURL_HTTP_VERSION_2TLS : CURL_HTTP_VERSION_1_1));
  // Over TLS the first connection tells whether it takes several requests at a time.
  Set(handle_, CURLOPT_PIPEWAIT, call.url.tls && shared ? 1L : 0L);
  Set(handle_, CURLOPT_TCP_KEEPALIVE, 1L);
  Set(handle_, CURLOPT_BUFFERSIZE,
      static_cast<long>(shared ? kMostRead : std::min(kMostPiece, receive_buffer_)));
  Set(handle_, CURLOPT_CONNECTTIMEOUT_MS, Millis(call.limits.connect));
  if (!call.paced) {
    Set(handle_, CURLOPT_TIMEOUT_MS, Millis(call.limits.whole));
    Set(handle_, CURLOPT_LOW_SPEED_LIMIT, call.limits.slow_bytes);
    Set(handle_, CURLOPT_LOW_SPEED_TIME, std::max(Millis(call.limits.slow) / 1000, 1L));
  }
  const std::string agent = "headrace/" + std::string(kVersion);
  Set(handle_, CURLOPT_USERAGENT, agent.c_str());
  if (!call.ca_file.empty()) Set(handle_, CURLOPT_CAINFO, call.ca_file.c_str());
  for (const std::string& header : call.headers) {
    curl_slist* const longer = curl_slist_append(headers_, header.c_str());
    HR_CHECK(longer != nullptr);
    headers_ = longer;
  }
  Set(handle_, CURLOPT_HTTPHEADER, headers_);
  Set(handle_, CURLOPT_HEADERFUNCTION, &Transfer::OnHeader);
  Set(handle_, CURLOPT_HEADERDATA, this);
  Set(handle_, CURLOPT_WRITEFUNCTION, &Transfer::OnBody);
  Set(handle_, CURLOPT_WRITEDATA, this);
  Set(handle_, CURLOPT_OPENSOCKETFUNCTION, &Transfer::OpenSocket);
  Set(handle_, CURLOPT_OPENSOCKETDATA, this);
  if (sockets_ == nullptr) return;
  Set(handle_, CURLOPT_CLOSESOCKETFUNCTION, &SocketTable::Close);
  Set(handle_, CURLOPT_CLOSESOCKETDATA, sockets_);
  Set(handle_, CURLOPT_PREREQFUNCTION, &Transfer::OnRequest);
  Set(handle_, CURLOPT_PREREQDATA, this);
}

Transfer::~Transfer() {
  curl_easy_cleanup(handle_);
  curl_slist_free_all(headers_);
}

Transfer* Transfer::Of(CURL* handle) {
  Transfer* self = nullptr;
  curl_easy_getinfo(handle, CURLINFO_PRIVATE, &self);
  return self;
}

curl_socket_t Transfer::OpenSocket(void* self, curlsocktype /*purpose*/, curl_sockaddr* address) {
  auto* const transfer = static_cast<Transfer*>(self);
  if (!transfer->rules_.MayReach(transfer->url_, address->addr)) {
    transfer->forbidden_ = true;
    return CURL_SOCKET_BAD;
  }
  const int made = ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
  if (made >= 0 && transfer->receive_buffer_ > 0) {
    // Before it connects: a window that was once offered can't be taken back. The system takes twice
    // as much, a half of it for its own book.
    const int bytes = static_cast<int>(transfer->receive_buffer_ / 2);
    ::setsockopt(made, SOL_SOCKET, SO_RCVBUF, &bytes, sizeof(bytes));
    // A receiver offers no room that is less than a segment. So segments are small against the buffer, also
    // where the network takes large ones: otherwise it would run empty and wait for a late ACK.
    const int segment = std::clamp(bytes / 4, kLeastSegment, kMostSegment);
    ::setsockopt(made, IPPROTO_TCP, TCP_MAXSEG, &segment, sizeof(segment));
  }
  if (made >= 0 && transfer->sockets_ != nullptr) transfer->sockets_->Add(made);
  return made;
}

int Transfer::OnRequest(void* self, char* /*ip*/, char* /*local_ip*/, int /*port*/,
                        int local_port) {
  auto* const transfer = static_cast<Transfer*>(self);
  transfer->socket_ = transfer->sockets_->Find(local_port);
  return CURL_PREREQFUNC_OK;
}

std::size_t Transfer::OnHeader(char* data, std::size_t size, std::size_t count, void* self) {
  auto* const transfer = static_cast<Transfer*>(self);
  const std::string_view line(data, size * count);
  if (line.size() > kMostHeadBytes) return 0;
  if (transfer->taker_.on_head_bytes) transfer->taker_.on_head_bytes(line.size());
  if (line != "\r\n" && line != "\n") {
    if (!transfer->head_taken_) transfer->head_.Read(line);  // trailers are none of ours
    return line.size();
  }
  // The end of a head; of an interim one (1xx) as well.
  if (transfer->head_.status >= 200 && !transfer->head_taken_) {
    transfer->head_taken_ = true;
    if (transfer->taker_.on_any_head) transfer->taker_.on_any_head(transfer->head_);
    if (transfer->succeeds()) transfer->failure_ = transfer->taker_.on_head(transfer->head_);
  }
  return transfer->failure_ == Failure::kNone ? line.size() : 0;
}

std::size_t Transfer::OnBody(char* data, std::size_t size, std::size_t count, void* self) {
  auto* const transfer = static_cast<Transfer*>(self);
  const std::size_t bytes = size * count;
  if (transfer->taker_.on_body_bytes && transfer->taker_.on_body_bytes(bytes)) {
    // Otherwise libcurl reads as long as the socket has something.
    curl_easy_pause(transfer->handle_, CURLPAUSE_RECV);
  }
  if (!transfer->succeeds()) {
    transfer->error_.append(data, std::min(bytes, kMostErrorBytes - transfer->error_.size()));
    return bytes;
  }
  transfer->failure_ = transfer->taker_.on_bytes({reinterpret_cast<std::byte*>(data), bytes});
  transfer->enough_ = transfer->taker_.is_enough();
  return transfer->failure_ == Failure::kNone && !transfer->enough_ ? bytes : 0;
}

Outcome Transfer::End(CURLcode code) const {
  Outcome outcome;
  outcome.retry_after = head_.retry_after;
  if (failure_ != Failure::kNone) {
    outcome.failure = failure_;
  } else if (forbidden_ && code != CURLE_OK && head_.status == 0) {
    outcome.failure = Failure::kForbidden;
  } else if (code == CURLE_OK || (enough_ && code == CURLE_WRITE_ERROR)) {
    outcome.status = head_.status;
    if (!succeeds()) {
      outcome.code = ErrorCode(error_);
      outcome.region = head_.region.empty() ? ErrorRegion(error_) : head_.region;
    }
  } else {
    outcome.failure = FailureOf(code);
    if (outcome.failure == Failure::kOther) outcome.code = curl_easy_strerror(code);
  }
  return outcome;
}

std::string Transfer::RedirectsTo() const {
  const char* url = nullptr;
  if (head_.status < 300 || head_.status >= 400) return {};
  curl_easy_getinfo(handle_, CURLINFO_REDIRECT_URL, &url);
  return url == nullptr ? "" : url;
}

}  // namespace headrace::remote
