#include "web/status_server.h"

#include <chrono>
#include <optional>
#include <utility>

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
  std::optional<PageSource> page = std::move(source.page);
  std::unique_ptr<StatusServer> made(new StatusServer(reactor, std::move(source)));
  StatusServer* const self = made.get();
  HttpRoutes routes;
  if (page) {
    HR_TRY(made->page_, StatusPage::Make(reactor, made->questions_, std::move(*page),
                                         options.address, !options.token_file.empty()));
    routes = made->page_->Routes();
  }
  routes["/metrics"] = {[self](const HttpRequest&) { return self->Metrics(); }};
  routes["/healthz"] = {[self](const HttpRequest&) { return self->Health(); }};
  routes["/readyz"] = {[self](const HttpRequest&) { return self->Readiness(); }};
  HR_TRY(made->server_, HttpServer::Start(std::move(options), std::move(routes)));
  return made;
}

StatusServer::~StatusServer() {
  questions_.Close();
  if (page_) page_->Close();
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
