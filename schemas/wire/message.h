#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "schemas/wire/control.h"
#include "schemas/wire/data.h"

// One message = frame 0: the 8-byte header (magic "HRW", version u8, type u16 LE, 2 zero bytes),
// frame 1: a FlatBuffers body with its file identifier, frames 2..: payload. Grammar: docs/wire.md.
// All functions here are thread-safe.
namespace headrace::wire {

inline constexpr std::uint8_t kWireVersion = 1;
inline constexpr std::size_t kHeaderBytes = 8;
inline constexpr std::size_t kMaxBodyBytes = std::size_t{64} << 20;
inline constexpr std::size_t kMaxPayloadFrames = 1 << 16;

// Values are wire values: append only.
enum class MessageType : std::uint16_t {
  kUnknown = 0,
  kOpenJob = 1,
  kJobOpened = 2,
  kOpenSession = 3,
  kSessionOpened = 4,
  kConsumerHeartbeat = 5,
  kLeases = 6,
  kCloseSession = 7,
  kCloseJob = 8,
  kRegisterWorker = 20,
  kWorkerRegistered = 21,
  kWorkerHeartbeat = 22,
  kWorkerDirective = 23,
  kLeaveWorker = 24,
  kStatusQuery = 30,
  kClusterStatus = 31,
  kAttach = 40,
  kAttached = 41,
  kBlobPart = 42,
  kDetach = 43,
  kDescribe = 44,
  kDescribed = 45,
  kBatchRequest = 46,
  kBatchDone = 47,
  kCancelIterations = 48,
  kPeerFind = 50,
  kPeerFound = 51,
  kPeerPut = 52,
  kPing = 60,
  kPong = 61,
  kDatasetOrder = 70,
  kDatasetOrdered = 71,
  kClusterOrder = 72,
  kClusterOrdered = 73,
};

// In the order of MessageType. std::monostate stands for a type of a newer peer.
using Body =
    std::variant<std::monostate, OpenJob, JobOpened, OpenSession, SessionOpened, ConsumerHeartbeat,
                 Leases, CloseSession, CloseJob, RegisterWorker, WorkerRegistered, WorkerHeartbeat,
                 WorkerDirective, LeaveWorker, StatusQuery, ClusterStatus, Attach, Attached,
                 BlobPart, Detach, Describe, Described, BatchRequest, BatchDone, CancelIterations,
                 PeerFind, PeerFound, PeerPut, Ping, Pong, DatasetOrder, DatasetOrdered,
                 ClusterOrder, ClusterOrdered>;

[[nodiscard]] MessageType TypeOf(const Body& body);

// Encodes header and body. Cannot fail.
struct EncodedMessage {
  std::array<std::byte, kHeaderBytes> header;
  Bytes body;
};
[[nodiscard]] EncodedMessage Encode(const Body& body);

// Checks everything that a peer can get wrong before it reads anything: magic, version, type, size,
// the FlatBuffers verifier, identifier, enum ranges, equal lengths of parallel vectors, negative
// counts. kInvalidArgument: damaged or hostile. kOtherRelease: the version of another release (the
// message names both versions). A valid frame of an unknown type becomes std::monostate.
[[nodiscard]] Result<Body> Decode(ByteSpan header, ByteSpan body);

// Encode and decode a plan alone, for hashing and files. Decoding checks as Decode does:
// kInvalidArgument.
[[nodiscard]] Bytes EncodePlan(const Plan& plan);
[[nodiscard]] Result<Plan> DecodePlan(ByteSpan bytes);

// The file table blob: paths under a common root, with one int64 label each.
struct FileTable {
  std::string root;  // absolute directory; entries that are absolute themselves ignore it
  std::vector<std::string> paths;
  std::vector<std::int64_t> labels;
};
// One table holds at most 2 GiB. A larger set of files becomes several leaves of the plan.
[[nodiscard]] constexpr bool FileTableFits(std::size_t paths, std::size_t path_bytes) {
  return path_bytes + 12 * paths < (std::size_t{1} << 31) - 65536;
}
// REQUIRES: as many labels as paths, and FileTableFits.
[[nodiscard]] Bytes EncodeFileTable(const FileTable& table);
// The same of paths that lie one after the other: path i ends at ends[i]. Without a string for each.
struct PackedPaths {
  std::string_view pool;
  std::span<const std::uint32_t> ends;
  std::span<const std::int64_t> labels;
};
// REQUIRES: as many labels as ends, which never fall, and the last of which is the pool's size;
// FileTableFits.
[[nodiscard]] Bytes EncodeFileTable(const std::string& root, const PackedPaths& paths);
// A verified view that does not copy, and reads path i in O(1). The bytes must outlive it and begin
// at a multiple of 8 (as in a vector or a mapping).
class FileTableView {
 public:
  // kInvalidArgument: damaged, or not aligned like that. O(size).
  static Result<FileTableView> Open(ByteSpan bytes);
  [[nodiscard]] std::int64_t size() const;
  // REQUIRES: 0 <= row < size().
  [[nodiscard]] std::string Path(std::int64_t row) const;
  // The same as it is in the table: without the root, unless it is absolute itself.
  [[nodiscard]] std::string_view Entry(std::int64_t row) const;
  [[nodiscard]] std::int64_t Label(std::int64_t row) const;

 private:
  const void* table_ = nullptr;  // a verified flatbuffers root inside the bytes
};

}  // namespace headrace::wire
