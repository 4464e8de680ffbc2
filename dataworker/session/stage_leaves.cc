#include "dataworker/session/stage_leaves.h"

#include <algorithm>
#include <utility>

namespace headrace::dataworker {
namespace {

using What = ObjectAsk::What;

// What a lane may say at once of lookups.
constexpr std::uint64_t kMostLookups = std::uint64_t{1} << 24;

ObjectTold ToldFile(Result<LeafShelf::File> file) {
  ObjectTold told;
  told.status = file.status();
  if (!file.ok()) return told;
  told.count = file->bytes;
  told.memory = std::move(file->memory);
  return told;
}

}  // namespace

ObjectTold AnswerLeafAsk(SessionEnvironment& environment, const Attachment& attachment,
                         const ObjectAsk& ask, UniqueFd passed) {
  // Only the trainer's own processes: others run code that may not say what a file's pixels are.
  if (!attachment.here() || !attachment.request().lanes_given || !attachment.cache()) {
    return {.status = Unsupported("leaves are for lanes of this host")};
  }
  LeafShelf& leaves = environment.leaves;
  const JobId job = attachment.job();
  ObjectTold told;
  const auto count = [&] {
    environment.cache->CountLookups(job, std::min(ask.first, kMostLookups),
                                    std::min(ask.bytes, kMostLookups));
  };
  if (ask.what == What::kLeafIndex) {
    count();
    told = ToldFile(leaves.Index());
    told.size = leaves.Room(job);
  } else if (ask.what == What::kLeafSegment) {
    told = ToldFile(leaves.Segment(job, ask.first));
  } else if (ask.what == What::kLeafPut) {
    told.status = leaves.Put(job, std::move(passed), ask.first, ask.bytes);
    told.size = leaves.Room(job);
  } else {
    count();
    told.size = leaves.Room(job);
  }
  return told;
}

}  // namespace headrace::dataworker
