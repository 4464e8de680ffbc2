#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <optional>

#include "base/unique_fd.h"
#include "dataworker/session/attachment.h"
#include "dataworker/session/session_environment.h"
#include "dataworker/stage/object_ask.h"

namespace headrace::dataworker {

// Bytes that the system counts as read by a session's processes, and that came from the worker's own cache: leaves
// in files. They are none of the job's source. A process says so after it has read, so they are taken off what is
// read later. A value.
class OwnReads {
 public:
  void Add(std::uint64_t bytes) { left_ += std::min(bytes, kMost); }
  // What is left of `bytes` that were read.
  [[nodiscard]] std::uint64_t Without(std::uint64_t bytes) {
    const std::uint64_t taken = std::min(bytes, left_);
    left_ -= taken;
    return bytes - taken;
  }

 private:
  // At once, whatever a process says.
  static constexpr std::uint64_t kMost = std::uint64_t{1} << 40;
  std::uint64_t left_ = 0;
};

// Answers what lanes ask about leaves (ObjectAsk::What from kLeafIndex on; LeafShelf). `passed`: what came with
// the question. kUnsupported: the process is no lane of this host and user, or the session has no cache.
// Otherwise errors of LeafShelf. The answer's version is text: room in memory, and, where there is a tier of files,
// room there and what a read of it takes: nanoseconds, and those of 1024 bytes. Reactor thread.
[[nodiscard]] ObjectTold AnswerLeafAsk(SessionEnvironment& environment,
                                       const Attachment& attachment, const ObjectAsk& ask,
                                       UniqueFd passed, OwnReads& own_reads);

// Asks neighbours first, where the answer is a matter of theirs: what they keep, or a segment of one of them. Calls
// `answer` with what is to be said, or with nothing: then AnswerLeafAsk says it. Once; inside, or within
// Neighbours::kPatience.
using OnLeafAnswer = std::function<void(std::optional<ObjectTold>)>;
void AskNeighbours(SessionEnvironment& environment, const Attachment& attachment,
                   const ObjectAsk& ask, OnLeafAnswer answer);

}  // namespace headrace::dataworker
