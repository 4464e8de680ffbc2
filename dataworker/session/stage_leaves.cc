#include "dataworker/session/stage_leaves.h"

#include <array>
#include <cmath>
#include <string>
#include <utility>

namespace headrace::dataworker {
namespace {

using What = ObjectAsk::What;

// What a lane may say at once of lookups, bytes, and nanoseconds.
constexpr std::uint64_t kMostLookups = std::uint64_t{1} << 24;
constexpr std::uint64_t kMostRead = std::uint64_t{1} << 40;
constexpr std::uint64_t kMostWaitedNs = 3'600'000'000'000;

// Only the trainer's own processes: others run code that may not say what a file's pixels are.
bool MayHaveLeaves(const Attachment& attachment) {
  return attachment.here() && attachment.request().lanes_given && attachment.cache();
}

ObjectTold ToldFile(Result<LeafShelf::File> file) {
  ObjectTold told;
  told.status = file.status();
  if (!file.ok()) return told;
  told.count = file->bytes;
  told.memory = std::move(file->memory);
  return told;
}

void TellRoom(const LeafShelf& leaves, JobId job, ObjectTold& told) {
  const SampleStore::Room room = leaves.Room(job);
  told.size = room.memory;
  told.version = std::to_string(room.memory);
  const auto cost = leaves.CostOfFiles();
  if (!cost) return;
  const auto of_1024_bytes = static_cast<std::int64_t>(std::lround(cost->nanos_a_byte * 1024));
  const std::array<std::int64_t, 3> words{static_cast<std::int64_t>(room.files),
                                          cost->fixed.count(), of_1024_bytes};
  for (const std::int64_t word : words) {
    told.version += ',';
    told.version += std::to_string(word);
  }
}

void Count(SessionEnvironment& environment, JobId job, const ObjectAsk& ask, OwnReads& own_reads) {
  const ObjectAsk::FromFiles read = ask.LeavesOfFiles();
  // Without files of its own, those that were found are a neighbour's.
  const bool has_files = environment.cache->files() != nullptr;
  const std::uint64_t of_files = std::min(read.hits, kMostLookups);
  const std::uint64_t hits = std::min(ask.first, kMostLookups) + (has_files ? 0 : of_files);
  environment.cache->CountLookups(job, {.hits = hits,
                                        .of_files = has_files ? of_files : 0,
                                        .misses = std::min(ask.bytes, kMostLookups)});
  own_reads.Add(read.bytes);
  if (MarkedFiles* const files = environment.cache->files(); files && read.awaited_bytes > 0) {
    files->NoteRead(std::min(read.awaited_bytes, kMostRead),
                    std::chrono::nanoseconds(std::min(read.waited_ns, kMostWaitedNs)));
  }
}

}  // namespace

ObjectTold AnswerLeafAsk(SessionEnvironment& environment, const Attachment& attachment,
                         const ObjectAsk& ask, UniqueFd passed, OwnReads& own_reads) {
  if (!MayHaveLeaves(attachment)) {
    return {.status = Unsupported("leaves are for lanes of this host")};
  }
  LeafShelf& leaves = environment.leaves;
  const JobId job = attachment.job();
  ObjectTold told;
  if (ask.what == What::kLeafSegment) {
    return ToldFile(leaves.Segment(job, ask.first));
  }
  if (ask.what == What::kLeafIndex) {
    Count(environment, job, ask, own_reads);
    leaves.SetNeighbours(environment.neighbours.offered(), environment.neighbours.version());
    told = ToldFile(ask.size == 1 ? leaves.Index(environment.reactor.clock().Now())
                                  : leaves.IndexOfMemory());
  } else if (ask.what == What::kLeafPut) {
    told.status = leaves.Put(job, std::move(passed), ask.first, ask.bytes);
  } else {
    Count(environment, job, ask, own_reads);
  }
  TellRoom(leaves, job, told);
  return told;
}

void AskNeighbours(SessionEnvironment& environment, const Attachment& attachment,
                   const ObjectAsk& ask, OnLeafAnswer answer) {
  if (!MayHaveLeaves(attachment)) return answer(std::nullopt);
  if (ask.what == What::kLeafIndex && ask.size == 1) {
    environment.neighbours.Refresh([answer = std::move(answer)] { answer(std::nullopt); });
    return;
  }
  const LeafShelf::Place place = LeafShelf::PlaceOf(ask.first);
  if (ask.what != What::kLeafSegment || place.neighbour == 0) return answer(std::nullopt);
  environment.neighbours.Segment(
      place.neighbour, place.number, [answer = std::move(answer)](Result<Neighbours::File> file) {
        if (!file.ok()) return answer(ToldFile(file.status()));
        answer(ToldFile(LeafShelf::File{std::move(file->descriptor), file->bytes}));
      });
}

}  // namespace headrace::dataworker
