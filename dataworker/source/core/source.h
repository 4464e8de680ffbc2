#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/file_witness.h"
#include "base/graph.h"
#include "base/result.h"
#include "base/tensor_spec.h"
#include "dataworker/exec/io_executor.h"
#include "dataworker/source/core/content_identity.h"
#include "schemas/wire/range_table.h"

namespace headrace::remote {
class Meter;
class ObjectClient;
}  // namespace headrace::remote

// Where samples come from: one folder for each source (docs/howto/add-source.md).
namespace headrace::dataworker {

struct SourceSample {
  ByteSpan bytes;           // of a file: ScratchBuffer::kSlack bytes after them are readable
  bool encoded = true;      // files; otherwise a dense tensor of `row`
  TensorSpec row;           // of a sample that is not encoded
  ContentIdentity content;  // of the sample's bytes, once unpacked; meaningful if cacheable()
  // `bytes` hold a zip's member, from its local header on. Whoever uses them unpacks them, on a
  // compute thread (ranges/zip_member.h). Empty: they are the sample.
  std::optional<wire::ZipMember> member = std::nullopt;
};

// What may be asked of a row.
enum class Ask : std::uint8_t {
  kIdentity,      // its content as it is now: sample.content and valid_for
  kSpec,          // the spec of its sample, from as few bytes as possible: spec
  kBytes,         // its bytes: sample, hold, and valid_for of sample.content
  kWitness,       // what identifies its bytes on another host, from their ends: witness
  kWholeWitness,  // the same, from all bytes
};

// The answer of a source for one row. An error is about this row alone, and names the file or the
// row:
//
//   kNotFound         the row's content is gone
//   kUnavailable      not readable, changed while it was read, or the source was stopped
//   kUnsupported      not a sample (a directory, too large); a witness of what came with the plan
//   kInvalidArgument  a row outside of [0, rows())
struct RowAnswer {
  Status status;
  // Bytes that were read for it from a device or a peer; 0 for what is in memory with the plan.
  std::uint64_t bytes_read = 0;
  SourceSample sample;
  // Keeps sample.bytes. Empty: they are in the caller's buffer, or in memory that the source owns.
  std::shared_ptr<const void> hold;
  // For how long sample.content may be believed without asking again. 0: every use asks.
  Duration valid_for{};
  TensorSpec spec;
  FileWitness witness;

  [[nodiscard]] static RowAnswer Failed(Status why) {
    RowAnswer answer;
    answer.status = std::move(why);
    return answer;
  }
};

// Reads a file's spec from its first bytes; see ops::ChainRunner::ReadHeader.
using HeaderReader = std::function<Result<TensorSpec>(
    ByteSpan head, const std::function<ByteSpan(std::size_t)>& more)>;
// Returns the content of a blob of the plan; nullptr when the session has none of that hash.
using BlobContent = std::shared_ptr<const ByteSpan>;
using BlobLookup = std::function<BlobContent(BlobHash)>;

// One leaf of a plan. Thread-safe. Rows count from 0.
//
// A source is asked in two ways. Now answers on the caller's thread if it need not wait. Fetch
// begins to answer for several rows and calls back. So no compute thread waits for a device or a
// peer. Callers bound what is open by SourceReads.
class Source {
 public:
  // Takes the answer for rows[index] of one Fetch.
  using Sink = std::function<void(std::size_t index, RowAnswer)>;

  // Nothing is open, or Stop was called. Never called inside of a sink.
  virtual ~Source() = default;
  [[nodiscard]] virtual std::int64_t rows() const = 0;
  // What people know the row by: for files, the path.
  [[nodiscard]] virtual std::string NameOf(std::int64_t row) const {
    return "row " + std::to_string(row);
  }
  // Encoded files of a sample. With several, its bytes are a FileGroup (base/file_group.h).
  [[nodiscard]] virtual int files() const { return 1; }

  // True: samples are worth a place in the cache and have a ContentIdentity.
  [[nodiscard]] virtual bool cacheable() const = 0;
  // True: a second read of a row comes from memory anyway (the kernel's page cache).
  [[nodiscard]] virtual bool rereads_from_memory() const = 0;
  // True: answers have to wait as a rule. Callers then ask ahead, before a thread needs the rows.
  // It may change from call to call.
  [[nodiscard]] virtual bool waits() const = 0;

  // A row's identity takes as long as its bytes: whoever needs the bytes asks for them alone.
  [[nodiscard]] virtual bool is_far() const { return false; }
  // The same of a row that was not asked for before: so its bytes are likely to be needed.
  [[nodiscard]] virtual bool is_far_and_new(std::int64_t /*row*/) const { return is_far(); }

  // Answers if that takes no wait for a device or a peer; nullopt: it would, ask Fetch. Bytes may
  // lie in `buffer`: they are valid until its next use.
  [[nodiscard]] virtual std::optional<RowAnswer> Now(Ask ask, std::int64_t row,
                                                     ScratchBuffer& buffer) const = 0;
  // Begins to answer for all of `rows`, which it knows together and may read together. Never
  // waits. Calls `sink` exactly once for each row, on any thread, in any order, perhaps before it
  // returns; without a lock of the source. The source bounds the time of an answer itself: an
  // error is an answer. The caller keeps the source until then.
  virtual void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const = 0;
  // True: rows are received by sockets, and FetchMetered has each byte paid for as it comes. Otherwise
  // SourceReads pays for whole rows.
  [[nodiscard]] virtual bool is_metered() const { return false; }
  // As Fetch. `meter`: who pays.
  virtual void FetchMetered(Ask ask, std::span<const std::int64_t> rows, Sink sink,
                            std::shared_ptr<remote::Meter> /*meter*/) const {
    Fetch(ask, rows, std::move(sink));
  }
  // Answers every open row (kUnavailable) before it returns, or has a task of the io executor do
  // it next. Later ones are answered at once. Idempotent; does not wait.
  virtual void Stop() {}

  // Returns another field of a sample. For files, column 1 is the int64 label. For arrays, column i
  // is array i. nullptr: there is no such column.
  struct Column {
    DType dtype = DType::kU8;
    std::vector<std::int64_t> row_shape;
    std::size_t row_bytes = 0;
  };
  [[nodiscard]] virtual const Column* column(std::int32_t index) const = 0;
  // From memory. REQUIRES: column(index), not column_in_bytes(index), and out.size() == its row_bytes.
  virtual Status CopyColumn(std::int32_t index, std::int64_t row, MutableByteSpan out) const = 0;
  // True: the column is made of the row's bytes (Ask::kBytes), which MakeColumn is given. REQUIRES:
  // column(index).
  [[nodiscard]] virtual bool column_in_bytes(std::int32_t /*index*/) const { return false; }
  // REQUIRES: column_in_bytes(index), and out.size() == its row_bytes.
  virtual Status MakeColumn(std::int32_t /*index*/, ByteSpan /*bytes*/,
                            MutableByteSpan /*out*/) const {
    return Internal("no column of this source is in its rows' bytes");
  }

  static constexpr std::uint64_t kMaxEncodedBytes = std::uint64_t{1} << 30;
  static constexpr std::size_t kHeadBytes = 16384;  // first read for kSpec
};

// Makes sources by name. Filled once by RegisterSources (generated); then immutable.
class SourceRegistry {
 public:
  struct Environment {
    BlobLookup blob;
    HeaderReader read_header;
    // Real paths, and bases of objects ("s3://bucket/prefix"). If it is not empty, a source refuses
    // (kUnavailable) to open files that lie in none of these directories after all links are
    // followed, and to read objects (kUnsupported) whose base is below none of these.
    std::vector<std::string> allowed_roots = {};
    // For what blocks. Outlives the sources' open rows. nullptr: for sources that need none.
    IoExecutor* io = nullptr;
    // For objects in stores. Outlives the sources, or is stopped before. nullptr: there is none.
    remote::ObjectClient* objects = nullptr;
    // For how long answers are believed. Outlives the sources.
    Clock* clock = &Clock::Real();
  };
  using Factory =
      std::function<Result<std::unique_ptr<Source>>(const SourceLeaf&, const Environment&)>;

  void Add(std::string name, Factory factory) { factories_[std::move(name)] = std::move(factory); }
  // Makes the source of a leaf. kUnsupported: a source that this build does not have. kNotFound: a
  // missing blob. kInvalidArgument or kDataLoss: a leaf that contradicts its blobs, or an argument
  // that the source does not know.
  [[nodiscard]] Result<std::unique_ptr<Source>> Make(const SourceLeaf& leaf,
                                                     const Environment& environment) const;

 private:
  std::map<std::string, Factory> factories_;
};

// For a source without arguments. kInvalidArgument: the leaf has one, and nothing may ignore it.
[[nodiscard]] Status CheckNoArgs(const SourceLeaf& leaf);
// kInvalidArgument: the row is outside of [0, rows).
[[nodiscard]] Status CheckRow(std::int64_t row, std::int64_t rows);

// All sources of this build.
[[nodiscard]] const SourceRegistry& BuiltinSources();

}  // namespace headrace::dataworker
