#pragma once

#include <future>

#include "net/reactor.h"

namespace headrace::net::testing {

// Runs `task` on the reactor's thread and waits for it.
template <typename Task>
void RunOn(Reactor& reactor, Task task) {
  std::promise<void> done;
  reactor.Post([&] {
    task();
    done.set_value();
  });
  done.get_future().wait();
}

}  // namespace headrace::net::testing
