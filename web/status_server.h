#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "net/reactor.h"
#include "schemas/wire/control.h"
#include "web/http_server.h"
#include "web/reactor_questions.h"
#include "web/status_page.h"

namespace headrace::web {

// What a process tells of itself. All are called on its reactor's thread.
struct StatusSource {
  // Its numbers, as the text is made of them: a coordinator's of the whole cluster, a worker's of itself.
  // The text is made on the server's thread.
  std::function<std::function<std::string()>()> metrics;
  // Whether it does its work; else why not, in a few words. Empty: it does.
  std::function<std::string()> not_ready;
  std::optional<PageSource> page = {};  // a coordinator's
};

// /metrics, /healthz and /readyz of a process with a reactor, and a coordinator's page (StatusPage).
//
//   /metrics   Prometheus' text format
//   /healthz   200 while the reactor answers within 2 s, else 503: the process should be started again
//   /readyz    200 while it does its work, else 503 with the reason
//
// Made and destroyed on the reactor's thread or while that does not run; the reactor outlives it.
class StatusServer {
 public:
  // Errors are HttpServer's and StatusPage's.
  static Result<std::unique_ptr<StatusServer>> Start(net::Reactor& reactor, HttpOptions options,
                                                     StatusSource source);
  ~StatusServer();

  [[nodiscard]] const std::string& address() const { return server_->address(); }

 private:
  StatusServer(net::Reactor& reactor, StatusSource source)
      : source_(std::move(source)), questions_(reactor) {}
  HttpAnswer Metrics();
  HttpAnswer Health();
  HttpAnswer Readiness();

  const StatusSource source_;
  ReactorQuestions questions_;
  std::unique_ptr<StatusPage> page_;
  std::unique_ptr<HttpServer> server_;  // ends first: it calls all else
};

}  // namespace headrace::web
