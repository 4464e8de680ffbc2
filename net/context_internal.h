#pragma once

#include <sys/types.h>

namespace headrace::net {

// Owns a ZeroMQ context. Its last owner ends it and waits there for the linger of closed sockets.
class Context {
 public:
  explicit Context(int io_threads);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] void* handle() const { return handle_; }
  // True in a forked child. ZeroMQ's threads do not exist there, so nothing of the context may be
  // touched.
  [[nodiscard]] bool InForkedChild() const;

 private:
  void* handle_;
  pid_t pid_;
};

}  // namespace headrace::net
