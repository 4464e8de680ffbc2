#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "net/reactor.h"

namespace headrace::dataworker {

// Returns a function for any thread, which calls `then(object, arguments...)` on the reactor's
// thread. It calls nothing if the object has gone or is closed() by then. So other threads report
// to an object of the reactor without keeping it alive. `reactor` outlives the function.
template <typename Object, typename Then>
[[nodiscard]] auto OnReactor(net::Reactor& reactor, std::weak_ptr<Object> weak, Then then) {
  return [&reactor, weak = std::move(weak), then](auto... arguments) {
    // std::function needs copies, so the arguments move through one shared box.
    auto box = std::make_shared<std::tuple<decltype(arguments)...>>(std::move(arguments)...);
    reactor.Post([weak, then, box] {
      const std::shared_ptr<Object> object = weak.lock();
      if (!object || object->closed()) return;
      std::apply([&](auto&... values) { then(*object, std::move(values)...); }, *box);
    });
  };
}

}  // namespace headrace::dataworker
