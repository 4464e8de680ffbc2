#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "dataworker/cache/cache_tier.h"
#include "dataworker/peers/cache_lease.h"
#include "dataworker/session/attachment.h"
#include "dataworker/session/first_ask.h"
#include "dataworker/session/session_environment.h"
#include "dataworker/session/stage_leaves.h"
#include "dataworker/source/stores/asked_object.h"
#include "dataworker/stage/object_ask.h"
#include "dataworker/stage/object_door.h"
#include "remote/object_request.h"

namespace headrace::dataworker {

// Reads objects for the processes of a session's Python stage, which have no credentials and no client
// of their own for it (docs/adr/0068-objects-in-stages.md). What holds for native sources holds here:
//
//   what may be read    --allow-root and --allow-endpoint
//   with whose keys     the worker's
//   how much a second   the job's limit of its source, paid for as it comes; the window of reads
//   the cache           ranges of objects in the job's part, by URL, version and range
//
// A question with a version is looked for in the cache first. For one without, the store is asked for
// the version before, unless the cache seems to lack what this session asks for (FirstAsk). Reactor thread;
// the owner calls Close before it releases this.
class StageObjects : public std::enable_shared_from_this<StageObjects> {
 public:
  // Both outlive it.
  // `waiting`: the keys that wait for a lane; called between Open and Close.
  using Waiting = std::function<std::vector<std::int64_t>(LaneId lane)>;
  StageObjects(SessionEnvironment& environment, const Attachment& attachment, Waiting waiting)
      : environment_(environment), attachment_(attachment), waiting_(std::move(waiting)) {}

  // Opens the door. Errors of ObjectDoor::Open.
  Status Open();
  // For the processes. REQUIRES: it is open.
  [[nodiscard]] int door() const { return door_->theirs(); }
  // Drops what waits; nothing is answered any more. Idempotent.
  void Close();
  [[nodiscard]] bool closed() const { return door_ == nullptr; }
  // Of what the processes have read, the bytes that did not come from the worker's own cache.
  [[nodiscard]] std::uint64_t WithoutOwnReads(std::uint64_t bytes) {
    return own_reads_.Without(bytes);
  }

 private:
  // One question on its way.
  struct Asked {
    std::uint64_t connection = 0;
    ObjectAsk ask;
    remote::ObjectRequest request;
    std::shared_ptr<const CacheLease> cache;  // nullptr: nothing of this question is cached
    CacheLookup found = {};                   // what the lookup said
    bool is_new = false;                      // FirstAsk learns of it
  };
  // What is to be said, where it is.
  struct Content {
    ByteSpan bytes;
    std::shared_ptr<const void> hold;
    std::uint64_t size = 0;  // of the object
    std::string version;
    bool is_read = false;  // from the store
  };
  // A process may go and leave its question. No more of them than that.
  static constexpr std::size_t kMostUnanswered = 4 * ObjectDoor::kMostConnections;
  using OnAnswer = void (StageObjects::*)(Asked, const AskedObject&, RowAnswer);

  void OnAsk(std::uint64_t connection, ObjectAsk ask, UniqueFd passed);
  // From kLeafIndex on, but for kAhead and kDecode.
  void OnLeafAsk(std::uint64_t connection, const ObjectAsk& ask, UniqueFd passed);
  // kAhead. kUnsupported: the process is no lane of this host and user.
  [[nodiscard]] ObjectTold OnAhead(const ObjectAsk& ask);
  // kDecode. Errors of OnAhead, ObjectAsk::DecodingOf and PicturesAhead::Ask.
  [[nodiscard]] ObjectTold OnDecode(const ObjectAsk& ask);
  [[nodiscard]] bool IsForLanes() const;
  [[nodiscard]] std::vector<std::int64_t> WaitingOf(const ObjectAsk& ask) const;
  // The request to the store. kUnavailable (kNotAllowed): this worker may not read it.
  [[nodiscard]] Result<remote::ObjectRequest> RequestOf(const ObjectAsk& ask) const;
  // Whether this session asks for it for the first time.
  bool IsNew(const Asked& asked);
  // Asks the store, and calls `then` with its answer.
  void Fetch(Asked asked, remote::ObjectRequest request, Ask ask, OnAnswer then);
  void OnVersion(Asked asked, const AskedObject& object, RowAnswer answer);
  void OnRead(Asked asked, const AskedObject& object, RowAnswer answer);
  void LookUp(Asked asked);
  void OnFound(Asked asked);
  void Tell(Asked asked, Content content);
  // On an io thread.
  static void PutIntoMemory(const Content& content, ObjectTold& told);
  static void Keep(Asked asked, const Content& content);
  void Answer(std::uint64_t connection, ObjectTold told);

  SessionEnvironment& environment_;
  const Attachment& attachment_;
  const Waiting waiting_;
  std::unique_ptr<ObjectDoor> door_;  // nullptr: closed
  std::size_t unanswered_ = 0;        // questions, also of processes that have gone
  FirstAsk first_ask_;
  OwnReads own_reads_;
  std::set<std::uint64_t> seen_;                                // hashes of URLs and ranges
  std::map<std::uint64_t, std::shared_ptr<AskedObject>> open_;  // by connection
};

}  // namespace headrace::dataworker
