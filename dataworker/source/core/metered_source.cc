#include "dataworker/source/core/metered_source.h"

#include <algorithm>
#include <utility>

namespace headrace::dataworker {
namespace {

thread_local std::uint64_t bytes_read = 0;

class MeteredSource final : public Source {
 public:
  explicit MeteredSource(std::unique_ptr<Source> source) : source_(std::move(source)) {}
  [[nodiscard]] std::int64_t rows() const override { return source_->rows(); }
  [[nodiscard]] bool cacheable() const override { return source_->cacheable(); }
  [[nodiscard]] bool rereads_from_memory() const override { return source_->rereads_from_memory(); }
  [[nodiscard]] Result<ContentIdentity> Identify(std::int64_t row) const override {
    return source_->Identify(row);
  }
  [[nodiscard]] Result<SourceSample> Read(std::int64_t row, ScratchBuffer& buffer) const override {
    Result<SourceSample> sample = source_->Read(row, buffer);
    if (sample.ok()) bytes_read += sample->bytes.size();
    return sample;
  }
  [[nodiscard]] Result<FileWitness> BearWitness(std::int64_t row, bool whole) const override {
    Result<FileWitness> witness = source_->BearWitness(row, whole);
    if (witness.ok()) {
      const std::uint64_t ends = std::min(2 * FileWitness::kEndBytes, witness->size);
      bytes_read += whole ? witness->size : ends;
    }
    return witness;
  }
  [[nodiscard]] Result<TensorSpec> Describe(std::int64_t row,
                                            ScratchBuffer& buffer) const override {
    return source_->Describe(row, buffer);
  }
  [[nodiscard]] const Column* column(std::int32_t index) const override {
    return source_->column(index);
  }
  Status CopyColumn(std::int32_t index, std::int64_t row, MutableByteSpan out) const override {
    return source_->CopyColumn(index, row, out);
  }

 private:
  const std::unique_ptr<Source> source_;
};

}  // namespace

std::uint64_t SourceBytesOfThisThread() { return bytes_read; }

std::unique_ptr<Source> Metered(std::unique_ptr<Source> source) {
  if (!source->cacheable()) return source;
  return std::make_unique<MeteredSource>(std::move(source));
}

HeaderReader MeteredHeaders(HeaderReader reader) {
  return [reader = std::move(reader)](ByteSpan head,
                                      const std::function<ByteSpan(std::size_t)>& more) {
    bytes_read += head.size();
    std::size_t longest = head.size();
    return reader(head, [&](std::size_t wanted) {
      const ByteSpan longer = more(wanted);
      if (longer.size() > longest) {  // else it was there
        bytes_read += longer.size();
        longest = longer.size();
      }
      return longer;
    });
  };
}

}  // namespace headrace::dataworker
