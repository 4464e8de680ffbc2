#pragma once

#include <sys/types.h>

#include <memory>
#include <utility>

namespace headrace::net {

class Keyring;

// Owns a ZeroMQ context. Its last owner ends it and waits there for the linger of closed sockets.
class Context {
 public:
  // With `keys`, TCP sockets of the context use them.
  Context(int io_threads, std::shared_ptr<Keyring> keys);
  ~Context();
  Context(const Context&) = delete;
  Context& operator=(const Context&) = delete;

  [[nodiscard]] void* handle() const { return handle_; }
  // Null: no keys are used.
  [[nodiscard]] const std::shared_ptr<Keyring>& keys() const { return keys_; }
  // True in a forked child. ZeroMQ's threads do not exist there, so nothing of the context may be
  // touched.
  [[nodiscard]] bool InForkedChild() const;

 private:
  void* handle_;
  pid_t pid_;
  std::shared_ptr<Keyring> keys_;
};

}  // namespace headrace::net
