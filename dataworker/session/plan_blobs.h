#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/ids.h"
#include "base/quota.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "dataworker/memory/memory_map.h"
#include "dataworker/memory/worker_memory.h"
#include "dataworker/session/blob_table.h"
#include "schemas/wire/data.h"

namespace headrace::dataworker {

// The blobs that a session's plan names, on their way to this worker. Each is
//
//   missing -another session of the job has it------------> here
//   missing -last part or descriptor-> in the caller's hands -Keep (verified)-> here
//
// Reactor thread.
class PlanBlobs {
 public:
  // What the blobs of a job may take. `memory` has what comes as messages; a descriptor's is its
  // maker's.
  struct Bounds {
    std::shared_ptr<WorkerMemory> memory;
    Quota of_job;
  };
  // `table` outlives it. At first all of `blobs` are missing.
  PlanBlobs(BlobTable& table, JobId job, std::vector<BlobHash> blobs, Bounds bounds);

  // True: every blob is here.
  [[nodiscard]] bool complete() const { return here_.size() == blobs_.size(); }
  [[nodiscard]] const std::map<BlobHash, BlobContent>& here() const { return here_; }
  // The blobs that the trainer must still send.
  [[nodiscard]] const std::set<BlobHash>& missing() const { return missing_; }
  // True: some are missing, and nothing came for kPatience.
  [[nodiscard]] bool Stalled(SteadyTime now) const;
  static constexpr Duration kPatience = std::chrono::seconds(5);

  // Starts over with the trainer. It drops the parts of unfinished blobs, and takes blobs that
  // other sessions of the job have by now.
  void Restart(SteadyTime now);
  // Makes all blobs missing again that are not here, also those whose content the caller has. One
  // of them was damaged, or the session failed otherwise.
  void MissAgain();

  // Takes a part, or a descriptor of the whole. Returns the content that this completes, for the
  // caller to verify. nullptr: more is to come, or the blob is not missing. A part that is not the
  // next one is dropped, and the earlier ones with it. kUnsupported: it is over a bound.
  // kResourceExhausted: the worker has no memory for it now (see lacks_room).
  // Errors of BlobBuilder::Make, BlobFromDescriptor.
  Result<BlobContent> OnPart(const wire::BlobPart& part, ByteSpan bytes, SteadyTime now);
  Result<BlobContent> OnDescriptor(BlobHash hash, const UniqueFd& fd, std::uint64_t bytes,
                                   SteadyTime now);
  // Whether a blob found no memory. Its parts are dropped until FindsRoom.
  [[nodiscard]] bool lacks_room() const { return lacking_.has_value(); }
  // Looks again; true: none lacks it.
  [[nodiscard]] bool FindsRoom();
  // What another job has by this hash. The caller may keep it instead of a blob with the same bytes.
  [[nodiscard]] BlobContent OfAnotherJob(BlobHash hash) const {
    return table_.OfAnother(job_, hash);
  }
  // Keeps a blob; other sessions of the job find it after this call. REQUIRES: the content has this
  // hash.
  void Keep(BlobHash hash, BlobContent content);

 private:
  // A blob that comes. It takes no memory while its bytes are those that another job has.
  struct Coming {
    std::uint64_t bytes = 0;
    BlobContent same;            // of another job
    std::uint64_t compared = 0;  // bytes of it, while there is no builder
    std::optional<BlobBuilder> builder;
    WorkerMemory::Lease lease;
  };
  // Has the blob a memory of its own, with what was compared.
  Status MakeOwn(BlobHash hash, Coming& coming);
  // Whether the job may have so many bytes more.
  [[nodiscard]] Status CheckRoom(std::uint64_t bytes) const;

  BlobTable& table_;
  const JobId job_;
  const Bounds bounds_;
  const std::vector<BlobHash> blobs_;  // each once
  std::set<BlobHash> missing_;
  std::map<BlobHash, Coming> building_;
  std::map<BlobHash, BlobContent> here_;
  std::optional<std::pair<BlobHash, std::uint64_t>> lacking_;  // and its bytes
  SteadyTime heard_{};
};

}  // namespace headrace::dataworker
