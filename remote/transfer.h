#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "remote/endpoint_rules.h"
#include "remote/options.h"
#include "remote/response_head.h"
#include "remote/retry.h"
#include "remote/socket_table.h"
#include "remote/store.h"

namespace headrace::remote {

// One request by HTTP in libcurl's hands. It follows no redirect, uses no proxy, and connects only
// where the rules let it: they are asked for each address, when it is connected to, so that a name that
// resolves otherwise the second time gains nothing. The client's thread.
class Transfer {
 public:
  struct Call {
    ObjectUrl url;
    bool head_only = false;
    std::vector<std::string> headers;  // "Name: value"
    std::string body = {};             // of a POST; empty: a GET or HEAD
    RequestLimits limits;
    std::string ca_file;  // empty: the system's
    // The caller watches how long it takes, and may pause it.
    bool paced = false;
    // Of a connection that is made for it, bytes. 0: as the system likes.
    std::uint64_t receive_buffer = 0;
    SocketTable* sockets = nullptr;  // outlives the connection that is made for it; nullptr: none
  };
  // What takes the answer. A failure ends the transfer.
  struct Taker {
    std::function<Outcome::Failure(const ResponseHead&)> on_head;
    std::function<Outcome::Failure(ByteSpan)> on_bytes;
    std::function<bool()> is_enough;  // the rest is not wanted
    // What came of any answer, before the others hear of it. Empty: nobody asks.
    std::function<void(std::size_t)> on_head_bytes = {};
    std::function<void(const ResponseHead&)> on_any_head = {};
    // True: it reads no more until Resume.
    std::function<bool(std::size_t)> on_body_bytes = {};
  };

  // `rules` outlives it.
  Transfer(const Call& call, const EndpointRules& rules, Taker taker);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  [[nodiscard]] CURL* handle() const { return handle_; }
  // The transfer of a handle of libcurl's.
  static Transfer* Of(CURL* handle);

  // Goes on after a pause. Not in a callback. It may take bytes that libcurl has kept meanwhile. Unless it
  // returns CURLE_OK, the transfer has ended so, and libcurl does not know.
  [[nodiscard]] CURLcode Resume() { return curl_easy_pause(handle_, CURLPAUSE_CONT); }
  // What it reads from, since its request is sent; CURL_SOCKET_BAD: that is not known.
  [[nodiscard]] curl_socket_t socket() const { return socket_; }
  // How it ended, after libcurl said so; without what only the caller can tell.
  [[nodiscard]] Outcome End(CURLcode code) const;
  [[nodiscard]] const ResponseHead& head() const { return head_; }
  // Where a redirect leads; empty: it is none.
  [[nodiscard]] std::string RedirectsTo() const;

 private:
  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* self);
  static int OnRequest(void* self, char* ip, char* local_ip, int port, int local_port);
  static curl_socket_t OpenSocket(void* self, curlsocktype purpose, curl_sockaddr* address);
  [[nodiscard]] bool succeeds() const { return head_.status >= 200 && head_.status < 300; }

  CURL* const handle_;
  curl_slist* headers_ = nullptr;
  const ObjectUrl url_;
  const EndpointRules& rules_;
  const Taker taker_;
  const std::uint64_t receive_buffer_;
  SocketTable* const sockets_;
  curl_socket_t socket_ = CURL_SOCKET_BAD;
  ResponseHead head_;
  bool head_taken_ = false;
  bool forbidden_ = false;
  Outcome::Failure failure_ = Outcome::Failure::kNone;  // of the taker
  bool enough_ = false;
  std::string error_;  // the start of an error's body
};

}  // namespace headrace::remote
