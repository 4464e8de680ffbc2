#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "base/file_witness.h"
#include "base/graph.h"
#include "base/result.h"
#include "base/tensor_spec.h"

// Where samples come from: one folder for each source (docs/howto/add-source.md).
namespace headrace::dataworker {

// Identifies a content without reading it. Two equal identities on one host mean equal bytes. Any
// write, replacement or touch makes a new one.
struct ContentIdentity {
  std::uint64_t device = 0;
  std::uint64_t inode = 0;
  std::uint64_t size = 0;  // bytes
  std::int64_t mtime_ns = 0;
  std::int64_t ctime_ns = 0;
  friend bool operator==(const ContentIdentity&, const ContentIdentity&) = default;
};

struct SourceSample {
  ByteSpan bytes;           // valid until the next use of the buffer, and while the source lives
  bool encoded = true;      // a file; otherwise a dense tensor of `row`
  TensorSpec row;           // of a sample that is not encoded
  ContentIdentity content;  // of exactly these bytes; meaningful if cacheable()
};

// Reads a file's spec from its first bytes; see ops::ChainRunner::ReadHeader.
using HeaderReader = std::function<Result<TensorSpec>(
    ByteSpan head, const std::function<ByteSpan(std::size_t)>& more)>;
// Returns the content of a blob of the plan; nullptr when the session has none of that hash.
using BlobContent = std::shared_ptr<const ByteSpan>;
using BlobLookup = std::function<BlobContent(BlobHash)>;

// One leaf of a plan. Immutable; thread-safe: every thread brings its own buffer.
// Rows count from 0; a row outside [0, rows()) is kInvalidArgument. Every error names the file, or
// the row, and is about that sample alone.
class Source {
 public:
  virtual ~Source() = default;
  [[nodiscard]] virtual std::int64_t rows() const = 0;

  // True: samples are worth a place in the cache and have a ContentIdentity.
  [[nodiscard]] virtual bool cacheable() const = 0;
  // True: a second read of a row comes from memory anyway (the kernel's page cache).
  [[nodiscard]] virtual bool rereads_from_memory() const = 0;

  // Identifies the row's content as it is now, without reading it. kNotFound: the file is gone.
  [[nodiscard]] virtual Result<ContentIdentity> Identify(std::int64_t row) const = 0;
  // Reads the row's bytes into `buffer`, or returns a view of the source. kNotFound, kUnavailable
  // (not readable, changed while it was read), kUnsupported (not a regular file, larger than
  // kMaxEncodedBytes).
  [[nodiscard]] virtual Result<SourceSample> Read(std::int64_t row,
                                                  ScratchBuffer& buffer) const = 0;
  // Returns a witness that identifies the row's bytes on another host. kUnsupported: they came with
  // the plan.
  [[nodiscard]] virtual Result<FileWitness> BearWitness(std::int64_t /*row*/,
                                                        bool /*whole*/) const {
    return Unsupported("not a file");
  }
  // Returns the spec of the row's sample, from as few bytes as possible.
  [[nodiscard]] virtual Result<TensorSpec> Describe(std::int64_t row,
                                                    ScratchBuffer& buffer) const = 0;

  // Returns another field of a sample. For files, column 1 is the int64 label. For arrays, column i
  // is array i. nullptr: there is no such column.
  struct Column {
    DType dtype = DType::kU8;
    std::vector<std::int64_t> row_shape;
    std::size_t row_bytes = 0;
  };
  [[nodiscard]] virtual const Column* column(std::int32_t index) const = 0;
  // REQUIRES: column(index) and out.size() == its row_bytes.
  virtual Status CopyColumn(std::int32_t index, std::int64_t row, MutableByteSpan out) const = 0;

  static constexpr std::uint64_t kMaxEncodedBytes = std::uint64_t{1} << 30;
  static constexpr std::size_t kHeadBytes = 16384;  // first read of Describe
};

// Makes sources by name. Filled once by RegisterSources (generated); then immutable.
class SourceRegistry {
 public:
  struct Environment {
    BlobLookup blob;
    HeaderReader read_header;
    // Real paths. If it is not empty, a source refuses (kUnavailable) to open files that lie in
    // none of these directories after all links are followed.
    std::vector<std::string> allowed_roots = {};
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

// All sources of this build.
[[nodiscard]] const SourceRegistry& BuiltinSources();

}  // namespace headrace::dataworker
