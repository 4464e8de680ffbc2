#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

// What a process shows to tools that speak HTTP: Prometheus, probes, people's browsers.
namespace headrace::web {

struct HttpOptions {
  // "HOST:PORT": an address of this host, or "localhost". Port 0: any free one.
  std::string address;
  // A file that only its owner reads, with a word that each request must bring ("Authorization: Bearer WORD").
  // Read again where it has changed. Empty: none is asked for.
  std::string token_file;
  unsigned silence_s = 10;  // a peer that sends or takes no byte for so long is cut off
};

// What was asked. The views hold while it is answered.
struct HttpRequest {
  std::string_view path;    // "/api/jobs/17", decoded; never with a query
  std::string_view rest;    // of a route that ends with '/': what follows it, "17"
  std::string_view method;  // "GET", "HEAD", "POST"
  std::string_view host;    // headers; empty: not sent
  std::string_view origin;
  std::string_view fetch_site;
  std::string_view admin;  // X-Headrace-Admin
  std::string_view if_none_match;
};

// The connection of an answer without an end.
class HttpConnection {
 public:
  virtual ~HttpConnection() = default;
  // Nothing is read until Resume. In HttpStream::Read alone, which returns 0 then.
  virtual void Pause() = 0;
  // Any thread, after Pause, once.
  virtual void Resume() = 0;
};

// An answer without an end. It is made, read and destroyed on the server's thread.
class HttpStream {
 public:
  virtual ~HttpStream() = default;
  // Copies the next bytes to `into`, and says how many. 0: none for now, and `connection` was paused. nullopt:
  // the end. `connection` lives as long as this.
  virtual std::optional<std::size_t> Read(HttpConnection& connection, std::span<char> into) = 0;
};

struct HttpAnswer {
  int status = 200;
  std::string body;
  std::string type = "text/plain; charset=utf-8";
  std::vector<std::pair<std::string, std::string>> headers = {};
  std::string caching = "no-store";
  std::shared_ptr<const std::string> shared = {};  // in place of `body`: others send it too
  std::unique_ptr<HttpStream> stream = {};         // in place of both
};

// Makes the answers to requests of one path. Called on the server's thread, one call at a time; those who
// wait meanwhile wait longer.
struct HttpRoute {
  std::function<HttpAnswer(const HttpRequest&)> answer;     // GET and HEAD; none: not allowed
  std::function<HttpAnswer(const HttpRequest&)> post = {};  // without a body; none: not allowed
  bool open = false;  // needs no token: it tells nothing of the process
};
// By path. One that ends with '/', but for "/" itself, is of all paths that begin with it; the longest counts.
using HttpRoutes = std::map<std::string, HttpRoute, std::less<>>;
// The route of a path; nullptr: there is none. Sets `rest` to what follows the route.
[[nodiscard]] const HttpRoute* FindRoute(const HttpRoutes& routes, std::string_view path,
                                         std::string_view& rest);

// The word in the first line of a file. kNotFound, kInvalidArgument: there is none, or others may read it.
[[nodiscard]] Result<std::string> ReadWord(const std::string& path);

// Answers GET and HEAD of a few paths, POST without a body of a few others, and nothing else. What peers can
// make it hold is bounded: 256 connections, 128 of one address, each with 16 KiB of a request, 256 MiB of answers
// together, HttpOptions::silence_s; a request's body is refused. Where more than half of the connections are
// there, each ends with its answer. It has a thread of its own. One thread makes and destroys it.
class HttpServer {
 public:
  // kInvalidArgument: the address is none, or other hosts reach it and there is no token. kUnavailable: the
  // address is taken. Errors of ReadWord for the token file.
  static Result<std::unique_ptr<HttpServer>> Start(HttpOptions options, HttpRoutes routes);
  // Ends its connections, after an answer that is being made. REQUIRES: no stream is paused that nobody
  // has resumed.
  virtual ~HttpServer() = default;

  // "HOST:PORT", with the real port.
  [[nodiscard]] virtual const std::string& address() const = 0;
};

}  // namespace headrace::web
