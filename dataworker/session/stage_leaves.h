#pragma once

#include "base/unique_fd.h"
#include "dataworker/session/attachment.h"
#include "dataworker/session/session_environment.h"
#include "dataworker/stage/object_ask.h"

namespace headrace::dataworker {

// Answers what lanes ask about leaves (ObjectAsk::What from kLeafIndex on; LeafShelf). `passed`: what came with
// the question. kUnsupported: the process is no lane of this host and user, or the session has no cache.
// Otherwise errors of LeafShelf. Reactor thread.
[[nodiscard]] ObjectTold AnswerLeafAsk(SessionEnvironment& environment,
                                       const Attachment& attachment, const ObjectAsk& ask,
                                       UniqueFd passed);

}  // namespace headrace::dataworker
