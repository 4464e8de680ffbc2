#pragma once

#include <sys/types.h>

namespace headrace::net {

// Owns a ZeroMQ context. Ended by its last owner; waits there for the linger of closed sockets.
class Context {
 public:
  explicit Context(int io_threads);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] void* handle() const { return handle_; }
  // ZeroMQ's threads do not exist in a forked child: nothing of it may be touched there.
  [[nodiscard]] bool InForkedChild() const;

 private:
  void* handle_;
  pid_t pid_;
};

}  // namespace headrace::net
