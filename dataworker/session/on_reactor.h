#pragma once

#include <memory>
#include <tuple>
#include <utility>

#include "net/reactor.h"

namespace headrace::dataworker {

// A function for any thread: called with arguments, it has `then(object, arguments...)` called on
// the reactor's thread. Nothing is called when the object has gone or is closed() by then. Threads
// that work for an object of the reactor's report to it in this way, and never keep it alive.
// `reactor` outlives the function.
template <typename Object, typename Then>
[[nodiscard]] auto OnReactor(net::Reactor& reactor, std::weak_ptr<Object> weak, Then then) {
  return [&reactor, weak = std::move(weak), then](auto... arguments) {
    // std::function wants copies; what is posted moves through one shared box.
    auto box = std::make_shared<std::tuple<decltype(arguments)...>>(std::move(arguments)...);
    reactor.Post([weak, then, box] {
      const std::shared_ptr<Object> object = weak.lock();
      if (!object || object->closed()) return;
      std::apply([&](auto&... values) { then(*object, std::move(values)...); }, *box);
    });
  };
}

}  // namespace headrace::dataworker
