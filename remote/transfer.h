#pragma once

#include <curl/curl.h>

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "remote/endpoint_rules.h"
#include "remote/options.h"
#include "remote/response_head.h"
#include "remote/retry.h"
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
  };
  // What takes the answer. A failure ends the transfer.
  struct Taker {
    std::function<Outcome::Failure(const ResponseHead&)> on_head;
    std::function<Outcome::Failure(ByteSpan)> on_bytes;
    std::function<bool()> is_enough;  // the rest is not wanted
  };

  // `rules` outlives it.
  Transfer(const Call& call, const EndpointRules& rules, Taker taker);
  ~Transfer();
  Transfer(const Transfer&) = delete;
  Transfer& operator=(const Transfer&) = delete;

  [[nodiscard]] CURL* handle() const { return handle_; }
  // The transfer of a handle of libcurl's.
  static Transfer* Of(CURL* handle);

  // How it ended, after libcurl said so; without what only the caller can tell.
  [[nodiscard]] Outcome End(CURLcode code) const;
  [[nodiscard]] const ResponseHead& head() const { return head_; }
  // Where a redirect leads; empty: it is none.
  [[nodiscard]] std::string RedirectsTo() const;

 private:
  static std::size_t OnHeader(char* data, std::size_t size, std::size_t count, void* self);
  static std::size_t OnBody(char* data, std::size_t size, std::size_t count, void* self);
  static curl_socket_t OpenSocket(void* self, curlsocktype purpose, curl_sockaddr* address);
  [[nodiscard]] bool succeeds() const { return head_.status >= 200 && head_.status < 300; }

  CURL* const handle_;
  curl_slist* headers_ = nullptr;
  const ObjectUrl url_;
  const EndpointRules& rules_;
  const Taker taker_;
  ResponseHead head_;
  bool head_taken_ = false;
  bool forbidden_ = false;
  Outcome::Failure failure_ = Outcome::Failure::kNone;  // of the taker
  bool enough_ = false;
  std::string error_;  // the start of an error's body
};

}  // namespace headrace::remote
