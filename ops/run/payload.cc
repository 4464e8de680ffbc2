#include "ops/run/payload.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>
#include <string>

namespace headrace::ops {
namespace {

constexpr std::uint32_t kMagic = 0x50545248;  // "HRTP"
constexpr std::uint32_t kVersion = 2;         // 1 knew images only

struct Spec {
  std::uint8_t dtype, layout, rank, unused[5];
  std::array<std::int64_t, Dims::kMost> dims;
  friend bool operator==(const Spec&, const Spec&) = default;
};

struct Header {
  std::uint32_t magic, version;
  Spec source, kept;
  std::uint8_t unused[24];  // 0; the pixels begin at a multiple of 64
  friend bool operator==(const Header&, const Header&) = default;
};
static_assert(sizeof(Header) == 128);

Spec Write(const TensorSpec& spec) {
  Spec written{};
  written.dtype = static_cast<std::uint8_t>(spec.dtype);
  written.layout = static_cast<std::uint8_t>(spec.layout);
  written.rank = static_cast<std::uint8_t>(spec.dims.rank());
  std::copy(spec.dims.begin(), spec.dims.end(), written.dims.begin());
  return written;
}

Result<TensorSpec> Read(const Spec& spec) {
  if (DTypeBytes(static_cast<DType>(spec.dtype)) == 0 ||
      spec.layout > static_cast<std::uint8_t>(Layout::kChw) || spec.rank > Dims::kMost) {
    return DataLoss("a tensor of an unknown kind");
  }
  return TensorSpec{static_cast<DType>(spec.dtype), static_cast<Layout>(spec.layout),
                    Dims(std::span(spec.dims).first(spec.rank))};
}

Header Write(const TensorSpec& source, const TensorSpec& kept) {
  return {kMagic, kVersion, Write(source), Write(kept), {}};
}

}  // namespace

void AllocatePayload(const TensorSpec& source, const ImageSpec& image, Bytes* payload,
                     MutableByteSpan* pixels) {
  const Header header = Write(source, image.tensor());
  payload->resize(sizeof(header) + image.bytes() + ScratchBuffer::kSlack);
  std::memcpy(payload->data(), &header, sizeof(header));
  *pixels = MutableByteSpan(*payload).subspan(sizeof(header), image.bytes());
}

Result<Payload> ReadPayload(ByteSpan payload) {
  Header header{};
  if (payload.size() < sizeof(header)) return DataLoss("cached sample without a header");
  std::memcpy(&header, payload.data(), sizeof(header));
  const auto refused = [] {
    return DataLoss("not a cached sample of version " + std::to_string(kVersion));
  };
  const Result<TensorSpec> source = Read(header.source);
  const Result<TensorSpec> kept = Read(header.kept);
  if (!source.ok() || !kept.ok() || !source->known() || !(header == Write(*source, *kept))) {
    return refused();
  }
  const Result<ImageSpec> image = ImageSpec::From(*kept);
  if (!image.ok() || !kept->known() || image->dtype != DType::kU8 ||
      image->layout != Layout::kHwc ||
      payload.size() != sizeof(header) + image->bytes() + ScratchBuffer::kSlack) {
    return refused();
  }
  const auto channels = static_cast<std::size_t>(image->channels);
  return Payload{
      *source,
      Image{reinterpret_cast<const std::uint8_t*>(payload.data()) + sizeof(header),
            static_cast<std::size_t>(image->width) * channels, channels, *image, WholeOf(*image)}};
}

}  // namespace headrace::ops
