#include <unistd.h>
#include <zmq.h>

#include <cerrno>

#include "base/check.h"
#include "net/context_internal.h"
#include "net/reactor.h"

namespace headrace::net {

Context::Context(int io_threads, std::shared_ptr<Keyring> keys)
    : handle_(zmq_ctx_new()), pid_(getpid()), keys_(std::move(keys)) {
  HR_CHECK(handle_ != nullptr);
  zmq_ctx_set(handle_, ZMQ_IO_THREADS, io_threads);
  zmq_ctx_set(handle_, ZMQ_MAX_SOCKETS, 4096);
}

Context::~Context() {
  if (InForkedChild()) return;
  while (zmq_ctx_term(handle_) != 0 && errno == EINTR) {
  }
}

bool Context::InForkedChild() const { return getpid() != pid_; }

std::shared_ptr<Context> MakeContext(int io_threads, std::shared_ptr<Keyring> keys) {
  return std::make_shared<Context>(io_threads, std::move(keys));
}

}  // namespace headrace::net
