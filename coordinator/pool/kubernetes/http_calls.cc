#include "coordinator/pool/kubernetes/http_calls.h"

#include <sys/epoll.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <chrono>
#include <utility>

#include "base/check.h"
#include "base/version.h"

namespace headrace::coordinator {
namespace {

constexpr std::chrono::seconds kConnectPatience{10};
constexpr long kKeepAliveSeconds =
    20;  // a watch is silent for minutes; a dead host is to be noticed
constexpr std::int64_t kLongestRetrySeconds = 600;

long ToMillis(Duration duration) {
  return std::max<long>(std::chrono::duration_cast<std::chrono::milliseconds>(duration).count(), 1);
}

template <typename T>
void SetOption(CURL* handle, CURLoption option, T value) {
  HR_CHECK(curl_easy_setopt(handle, option, value) == CURLE_OK);
}

CURLM* MakeMulti() {
  static const CURLcode code = curl_global_init(CURL_GLOBAL_DEFAULT);
  HR_CHECK(code == CURLE_OK);
  CURLM* const multi = curl_multi_init();
  HR_CHECK(multi != nullptr);
  return multi;
}

// libcurl's own would come to child processes.
curl_socket_t OpenSocket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

// "Retry-After: 3", as the API server says it; dates are none of its.
std::optional<Duration> RetryAfter(std::string_view line) {
  constexpr std::string_view kName = "retry-after:";
  if (line.size() <= kName.size()) return std::nullopt;
  const bool is_it = std::ranges::equal(line.substr(0, kName.size()), kName, [](char a, char b) {
    return std::tolower(static_cast<unsigned char>(a)) == b;
  });
  if (!is_it) return std::nullopt;
  line.remove_prefix(kName.size());
  line.remove_prefix(std::min(line.find_first_not_of(' '), line.size()));
  std::int64_t seconds = 0;
  const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), seconds);
  if (error != std::errc() || end == line.data() || seconds < 0) return std::nullopt;
  return std::chrono::seconds(std::min(seconds, kLongestRetrySeconds));
}

}  // namespace

// One request in libcurl's hands.
class HttpCalls::Call {
 public:
  explicit Call(HttpRequest request) : request_(std::move(request)), handle_(curl_easy_init()) {
    HR_CHECK(handle_ != nullptr);
    SetOption(handle_, CURLOPT_ERRORBUFFER, error_.data());
    SetOption(handle_, CURLOPT_URL, request_.url.c_str());
    SetOption(handle_, CURLOPT_PATH_AS_IS, 1L);
    SetOption(handle_, CURLOPT_DISALLOW_USERNAME_IN_URL, 1L);
    SetOption(handle_, CURLOPT_PROTOCOLS_STR, "http,https");
    SetOption(handle_, CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
    SetOption(handle_, CURLOPT_FOLLOWLOCATION, 0L);
    SetOption(handle_, CURLOPT_PROXY, "");
    SetOption(handle_, CURLOPT_NOSIGNAL, 1L);
    SetOption(handle_, CURLOPT_NOPROGRESS, 1L);
    SetOption(handle_, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    SetOption(handle_, CURLOPT_TCP_KEEPALIVE, 1L);
    SetOption(handle_, CURLOPT_TCP_KEEPIDLE, kKeepAliveSeconds);
    SetOption(handle_, CURLOPT_TCP_KEEPINTVL, kKeepAliveSeconds);
    SetOption(handle_, CURLOPT_CONNECTTIMEOUT_MS, ToMillis(kConnectPatience));
    SetOption(handle_, CURLOPT_TIMEOUT_MS, ToMillis(request_.patience));
    const std::string agent = "headrace/" + std::string(kVersion);
    SetOption(handle_, CURLOPT_USERAGENT, agent.c_str());
    if (!request_.ca_file.empty()) SetOption(handle_, CURLOPT_CAINFO, request_.ca_file.c_str());
    SetOption(handle_, CURLOPT_CUSTOMREQUEST, request_.method.c_str());
    if (!request_.body.empty()) {
      SetOption(handle_, CURLOPT_POSTFIELDSIZE, static_cast<long>(request_.body.size()));
      SetOption(handle_, CURLOPT_POSTFIELDS, request_.body.c_str());  // lives as long as this
      AddHeader("Expect:");                                           // it is sent at once
    }
    for (const std::string& header : request_.headers) AddHeader(header);
    SetOption(handle_, CURLOPT_HTTPHEADER, headers_);
    SetOption(handle_, CURLOPT_HEADERFUNCTION, &Call::OnHeader);
    SetOption(handle_, CURLOPT_HEADERDATA, this);
    SetOption(handle_, CURLOPT_WRITEFUNCTION, &Call::OnBody);
    SetOption(handle_, CURLOPT_WRITEDATA, this);
    SetOption(handle_, CURLOPT_OPENSOCKETFUNCTION, &OpenSocket);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;
  ~Call() {
    curl_easy_cleanup(handle_);
    curl_slist_free_all(headers_);
  }

  [[nodiscard]] CURL* handle() const { return handle_; }
  [[nodiscard]] const HttpRequest& request() const { return request_; }
  // What has come for on_bytes since the last time.
  [[nodiscard]] std::string TakeFresh() { return std::exchange(fresh_, {}); }

  // After libcurl has said how it ended.
  HttpReply End(CURLcode ended) {
    long sent = 0;
    curl_easy_getinfo(handle_, CURLINFO_REQUEST_SIZE, &sent);
    reply_.may_be_heard = sent > 0;
    if (ended == CURLE_OK) return std::move(reply_);
    const char* const why = error_[0] != '\0' ? error_.data() : curl_easy_strerror(ended);
    const Code code = too_large_                          ? Code::kResourceExhausted
                      : ended == CURLE_OPERATION_TIMEDOUT ? Code::kDeadlineExceeded
                                                          : Code::kUnavailable;
    reply_.status = Status(code, too_large_ ? "the answer is too large" : why);
    return std::move(reply_);
  }

 private:
  void AddHeader(const std::string& header) {
    curl_slist* const longer = curl_slist_append(headers_, header.c_str());
    HR_CHECK(longer != nullptr);
    headers_ = longer;
  }

  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* self) {
    auto* const call = static_cast<Call*>(self);
    long code = 0;
    curl_easy_getinfo(call->handle_, CURLINFO_RESPONSE_CODE, &code);
    call->reply_.code = static_cast<int>(code);
    if (const auto after = RetryAfter({data, size * count})) call->reply_.retry_after = after;
    return size * count;
  }
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* self) {
    auto* const call = static_cast<Call*>(self);
    const bool is_good = call->reply_.code / 100 == 2;
    std::string& to = call->request_.on_bytes && is_good ? call->fresh_ : call->reply_.body;
    if (to.size() + size * count > kMostBytes) {
      call->too_large_ = true;
      return 0;
    }
    to.append(data, size * count);
    return size * count;
  }

  const HttpRequest request_;
  CURL* const handle_;
  curl_slist* headers_ = nullptr;
  std::array<char, CURL_ERROR_SIZE> error_{};
  HttpReply reply_;
  std::string fresh_;
  bool too_large_ = false;
};

HttpCalls::HttpCalls(net::Reactor& reactor)
    : reactor_(reactor), epoll_(::epoll_create1(EPOLL_CLOEXEC)), multi_(MakeMulti()) {
  HR_CHECK(epoll_.valid());
  curl_multi_setopt(multi_, CURLMOPT_SOCKETFUNCTION, &HttpCalls::OnSocket);
  curl_multi_setopt(multi_, CURLMOPT_SOCKETDATA, this);
  curl_multi_setopt(multi_, CURLMOPT_TIMERFUNCTION, &HttpCalls::OnTimer);
  curl_multi_setopt(multi_, CURLMOPT_TIMERDATA, this);
  reactor_.WatchFd(epoll_.get(), [this] { Ready(); });
}

HttpCalls::~HttpCalls() {
  for (const auto& [number, open] : open_) curl_multi_remove_handle(multi_, open.call->handle());
  open_.clear();
  curl_multi_cleanup(multi_);  // takes its sockets out of the set
  if (timer_) reactor_.CancelTimer(*timer_);
  reactor_.UnwatchFd(epoll_.get());
}

std::int64_t HttpCalls::Start(HttpRequest request, Done done) {
  auto call = std::make_unique<Call>(std::move(request));
  CURL* const handle = call->handle();
  open_[++last_] = {std::move(call), std::move(done), std::nullopt};
  HR_CHECK(curl_multi_add_handle(multi_, handle) == CURLM_OK);
  return last_;
}

void HttpCalls::Cancel(std::int64_t call) {
  const auto found = open_.find(call);
  if (found == open_.end()) return;
  if (!found->second.ended) curl_multi_remove_handle(multi_, found->second.call->handle());
  open_.erase(found);
}

int HttpCalls::OnSocket(CURL*, curl_socket_t socket, int what, void* self, void* known) {
  auto* const calls = static_cast<HttpCalls*>(self);
  const int set = calls->epoll_.get();
  if (what == CURL_POLL_REMOVE) {
    (void)::epoll_ctl(set, EPOLL_CTL_DEL, socket, nullptr);
    curl_multi_assign(calls->multi_, socket, nullptr);
    return 0;
  }
  epoll_event event{};
  if (what != CURL_POLL_OUT) event.events |= EPOLLIN;
  if (what != CURL_POLL_IN) event.events |= EPOLLOUT;
  event.data.fd = socket;
  (void)::epoll_ctl(set, known != nullptr ? EPOLL_CTL_MOD : EPOLL_CTL_ADD, socket, &event);
  curl_multi_assign(calls->multi_, socket, calls);
  return 0;
}

int HttpCalls::OnTimer(CURLM*, long millis, void* self) {
  auto* const calls = static_cast<HttpCalls*>(self);
  if (calls->timer_) calls->reactor_.CancelTimer(*calls->timer_);
  calls->timer_.reset();
  if (millis < 0) return 0;
  calls->timer_ = calls->reactor_.AddOnce(std::chrono::milliseconds(millis), [calls] {
    calls->timer_.reset();
    int running = 0;
    curl_multi_socket_action(calls->multi_, CURL_SOCKET_TIMEOUT, 0, &running);
    // A reactor whose clock is a little ahead comes too early; libcurl does not say the same twice.
    long left = -1;
    curl_multi_timeout(calls->multi_, &left);
    if (left >= 0 && !calls->timer_) OnTimer(calls->multi_, left, calls);
    calls->Settle();
  });
  return 0;
}

void HttpCalls::Ready() {
  std::array<epoll_event, 16> events{};
  const int count = ::epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), 0);
  for (int i = 0; i < count; ++i) {
    const std::uint32_t seen = events[static_cast<std::size_t>(i)].events;
    const int what = ((seen & EPOLLIN) != 0 ? CURL_CSELECT_IN : 0) |
                     ((seen & EPOLLOUT) != 0 ? CURL_CSELECT_OUT : 0) |
                     ((seen & (EPOLLERR | EPOLLHUP)) != 0 ? CURL_CSELECT_ERR : 0);
    int running = 0;
    curl_multi_socket_action(multi_, events[static_cast<std::size_t>(i)].data.fd, what, &running);
  }
  Settle();
}

// Tells what has come. Only now: libcurl's own callbacks must not start or end a call.
void HttpCalls::Settle() {
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi_, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const handle = message->easy_handle;
    const CURLcode code = message->data.result;
    curl_multi_remove_handle(multi_, handle);
    for (auto& [number, open] : open_) {
      if (open.call->handle() == handle) open.ended = code;
    }
  }
  std::vector<std::int64_t> numbers;
  for (const auto& [number, open] : open_) numbers.push_back(number);
  for (const std::int64_t number : numbers) {
    auto found = open_.find(number);
    if (found == open_.end()) continue;
    if (const std::string fresh = found->second.call->TakeFresh(); !fresh.empty()) {
      const auto on_bytes = found->second.call->request().on_bytes;
      on_bytes(fresh);
      found = open_.find(number);  // it may be cancelled
    }
    if (found == open_.end() || !found->second.ended) continue;
    const Open open = std::move(open_.extract(found).mapped());
    if (open.done) open.done(open.call->End(*open.ended));
  }
}

std::vector<HttpReply> HttpCalls::Run(const std::vector<HttpRequest>& requests, Duration patience) {
  CURLM* const multi = MakeMulti();
  curl_multi_setopt(multi, CURLMOPT_MAX_HOST_CONNECTIONS, 16L);
  std::vector<std::unique_ptr<Call>> calls;
  std::vector<HttpReply> replies(requests.size());
  for (const HttpRequest& request : requests) {
    HttpRequest one = request;
    one.patience = std::min(one.patience, patience);
    one.on_bytes = nullptr;
    calls.push_back(std::make_unique<Call>(std::move(one)));
    HR_CHECK(curl_multi_add_handle(multi, calls.back()->handle()) == CURLM_OK);
  }
  // Each call has a limit of its own, so this ends.
  for (int running = 1; running > 0;) {
    curl_multi_perform(multi, &running);
    if (running > 0) curl_multi_poll(multi, nullptr, 0, 100, nullptr);
  }
  int left = 0;
  while (const CURLMsg* const message = curl_multi_info_read(multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (calls[i]->handle() == message->easy_handle) {
        replies[i] = calls[i]->End(message->data.result);
      }
    }
  }
  for (const auto& call : calls) curl_multi_remove_handle(multi, call->handle());
  calls.clear();
  curl_multi_cleanup(multi);
  return replies;
}

}  // namespace headrace::coordinator
