#include "web/status_server.h"

#include <chrono>
#include <optional>

namespace headrace::web {
namespace {

constexpr std::chrono::milliseconds kPatience{2000};
constexpr int kUnavailableNow = 503;
constexpr const char* kMetricsType = "text/plain; version=0.0.4; charset=utf-8";

HttpAnswer Busy() { return {kUnavailableNow, "no answer within 2 s\n"}; }

}  // namespace

Result<std::unique_ptr<StatusServer>> StatusServer::Start(net::Reactor& reactor,
                                                          HttpOptions options,
                                                          StatusSource source) {
  std::unique_ptr<StatusServer> made(new StatusServer(reactor, std::move(source)));
  StatusServer* const self = made.get();
  HR_TRY(made->server_, HttpServer::Start(std::move(options),
                                          {{"/metrics", [self] { return self->Metrics(); }},
                                           {"/healthz", [self] { return self->Health(); }},
                                           {"/readyz", [self] { return self->Readiness(); }}}));
  return made;
}

StatusServer::~StatusServer() {
  questions_.Close();
  server_.reset();
}

HttpAnswer StatusServer::Metrics() {
  const auto text = questions_.Ask<std::function<std::string()>>(source_.metrics, kPatience);
  return text ? HttpAnswer{200, (*text)(), kMetricsType} : Busy();
}

HttpAnswer StatusServer::Health() {
  const auto alive = questions_.Ask<bool>([] { return true; }, kPatience);
  return alive ? HttpAnswer{200, "ok\n"} : Busy();
}

HttpAnswer StatusServer::Readiness() {
  const auto why = questions_.Ask<std::string>(source_.not_ready, kPatience);
  if (!why) return Busy();
  return why->empty() ? HttpAnswer{200, "ok\n"} : HttpAnswer{kUnavailableNow, *why + "\n"};
}

}  // namespace headrace::web
