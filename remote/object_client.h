#pragma once

#include <sys/types.h>

#include <memory>
#include <vector>

#include "remote/object_request.h"
#include "remote/options.h"

namespace headrace::remote {

// Reads objects by HTTP for a process, on a thread, "hr-objects", which is made with the first
// request. Connections are kept and shared; to each host only so many requests go at the same time,
// and the others wait in line. Requests whose meter has a limit go by connections with a small
// receive buffer, which have a thread of their own for each of kReceiveBuffers that is used.
// Thread-safe. After fork() the child's copy is inert: it answers
// kUnavailable, and its destructor does nothing.
class ObjectClient {
 public:
  explicit ObjectClient(ClientOptions options);
  // Stops. Never in an OnObject.
  ~ObjectClient();
  ObjectClient(const ObjectClient&) = delete;
  ObjectClient& operator=(const ObjectClient&) = delete;

  // Begins a request and never waits. Callers bound how much is open.
  void Begin(ObjectRequest request, OnObject on_object);
  // Has the thread answer what is open of this owner next (kUnavailable).
  void Cancel(const void* owner);
  // Answers everything that is open, also what comes later, and ends the thread. Idempotent.
  void Stop();

 private:
  class Thread;

  const pid_t pid_;
  std::vector<std::unique_ptr<Thread>>
      threads_;  // the free one, and one for each of kReceiveBuffers
};

}  // namespace headrace::remote
