#include "web/http_server.h"

namespace headrace::web {

const HttpRoute* FindRoute(const HttpRoutes& routes, std::string_view path,
                           std::string_view& rest) {
  rest = {};
  if (const auto exact = routes.find(path); exact != routes.end()) {
    return exact->first.size() > 1 && exact->first.ends_with('/') ? nullptr : &exact->second;
  }
  for (std::size_t end = path.rfind('/'); end != std::string_view::npos && end > 0;
       end = path.rfind('/', end - 1)) {
    if (const auto found = routes.find(path.substr(0, end + 1)); found != routes.end()) {
      rest = path.substr(end + 1);
      return &found->second;
    }
  }
  return nullptr;
}

}  // namespace headrace::web
