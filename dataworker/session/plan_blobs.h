#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/memory/memory_map.h"
#include "dataworker/session/blob_table.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// The blobs that a session's plan names, on their way to this worker. Each is
//
//   missing -another session has it-----------------------> here
//   missing -last part or descriptor-> in the caller's hands -Keep (verified)-> here
//
// Reactor thread.
class PlanBlobs {
 public:
  // `table` outlives it. All of `blobs` are missing at first.
  PlanBlobs(BlobTable& table, std::vector<BlobHash> blobs);

  // Every blob is here.
  [[nodiscard]] bool complete() const { return here_.size() == blobs_.size(); }
  [[nodiscard]] const std::map<BlobHash, BlobContent>& here() const { return here_; }
  // What the trainer has still to send.
  [[nodiscard]] const std::set<BlobHash>& missing() const { return missing_; }
  // Some are missing, and nothing came for kPatience.
  [[nodiscard]] bool Stalled(SteadyTime now) const;
  static constexpr Duration kPatience = std::chrono::seconds(5);

  // The trainer starts over: what came of unfinished blobs is dropped, and what other sessions have
  // by now is taken from them.
  void Restart(SteadyTime now);
  // Those that are not here are missing again, also where the caller had a content in its hands:
  // one of them was damaged, or the session failed otherwise.
  void MissAgain();

  // A part came, or a descriptor of the whole. The content that this completes, to be verified by
  // the caller; nullptr: more is to come, or the blob is not missing. A part that is not the next
  // one is dropped, and the earlier ones with it.
  // kInvalidArgument: no blob is of this size. Errors of BlobBuilder::Make, BlobFromDescriptor.
  Result<BlobContent> OnPart(const wire::BlobPart& part, ByteSpan bytes, SteadyTime now);
  Result<BlobContent> OnDescriptor(BlobHash hash, const UniqueFd& fd, std::uint64_t bytes,
                                   SteadyTime now);
  // REQUIRES: the content has this hash. Other sessions find it from now on.
  void Keep(BlobHash hash, BlobContent content);

 private:
  BlobTable& table_;
  const std::vector<BlobHash> blobs_;  // each once
  std::set<BlobHash> missing_;
  std::map<BlobHash, BlobBuilder> building_;
  std::map<BlobHash, BlobContent> here_;
  SteadyTime heard_{};
};

}  // namespace headrace::dataworker
