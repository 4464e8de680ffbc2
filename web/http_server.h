#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/result.h"

// What a process shows to tools that speak HTTP: Prometheus, probes, people's browsers.
namespace headrace::web {

struct HttpOptions {
  // "HOST:PORT": an address of this host, or "localhost". Port 0: any free one.
  std::string address;
  // A file that only its owner reads, with a word that each request must bring ("Authorization: Bearer WORD").
  // Read again where it has changed. Empty: none is asked for.
  std::string token_file;
};

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string type = "text/plain; charset=utf-8";
};

// Answers GET and HEAD of a few paths, and nothing else. What peers can make it hold is bounded: 16
// connections, 8 of one address, each with 16 KiB of a request and one page, 10 s without a byte; a request's body is refused. It
// has a thread of its own. One thread makes and destroys it.
class HttpServer {
 public:
  // Makes the answer to one request. Called on the server's thread, one call at a time; those who wait meanwhile
  // wait longer.
  using Page = std::function<HttpAnswer()>;

  // `pages`: by path ("/metrics"). kInvalidArgument: the address is none, or other hosts reach it and there is
  // no token. kUnavailable: the address is taken. kNotFound, kInvalidArgument: no token file, or others may
  // read it.
  static Result<std::unique_ptr<HttpServer>> Start(HttpOptions options,
                                                   std::map<std::string, Page> pages);
  // Ends its connections, after a page that is being made.
  virtual ~HttpServer() = default;

  // "HOST:PORT", with the real port.
  [[nodiscard]] virtual const std::string& address() const = 0;
};

}  // namespace headrace::web
