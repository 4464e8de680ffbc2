#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "dataworker/source/core/source.h"
#include "remote/object_client.h"

namespace headrace::dataworker {

// One question about an object that no plan names: code of a stage asks it by headrace.fs. It is a source
// of one row, so that it goes the way of all reads (SourceReads), with their limits, turns and window.
// The answer to Ask::kIdentity or Ask::kBytes is whatever the request asks for.
class AskedObject final : public Source {
 public:
  // `client` outlives what is open. The request's owner and meter are set here.
  AskedObject(remote::ObjectClient& client, remote::ObjectRequest request)
      : client_(client), request_(std::move(request)) {}

  // Of the object; known when the sink is called, if the answer is ok.
  [[nodiscard]] std::uint64_t size() const { return size_; }
  [[nodiscard]] const std::string& version() const { return version_; }

  [[nodiscard]] std::int64_t rows() const override { return 1; }
  [[nodiscard]] std::string NameOf(std::int64_t /*row*/) const override {
    return request_.url.Name();
  }
  [[nodiscard]] bool cacheable() const override { return false; }
  [[nodiscard]] bool rereads_from_memory() const override { return false; }
  [[nodiscard]] bool waits() const override { return true; }
  [[nodiscard]] std::optional<RowAnswer> Now(Ask /*ask*/, std::int64_t /*row*/,
                                             ScratchBuffer& /*buffer*/) const override {
    return std::nullopt;
  }
  void Fetch(Ask ask, std::span<const std::int64_t> rows, Sink sink) const override {
    FetchMetered(ask, rows, std::move(sink), nullptr);
  }
  [[nodiscard]] bool is_metered() const override { return true; }
  void FetchMetered(Ask ask, std::span<const std::int64_t> rows, Sink sink,
                    std::shared_ptr<remote::Meter> meter) const override;
  void Stop() override { client_.Cancel(this); }
  [[nodiscard]] const Column* column(std::int32_t /*index*/) const override { return nullptr; }
  Status CopyColumn(std::int32_t /*index*/, std::int64_t /*row*/,
                    MutableByteSpan /*out*/) const override {
    return Unsupported("an object has no columns");
  }

 private:
  remote::ObjectClient& client_;
  const remote::ObjectRequest request_;
  // Written by the client's thread before the sink is called, once.
  mutable std::uint64_t size_ = 0;
  mutable std::string version_;
};

}  // namespace headrace::dataworker
