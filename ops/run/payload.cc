#include "ops/run/payload.h"

#include <cstring>

namespace headrace::ops {
namespace {

constexpr std::uint32_t kMagic = 0x50545248;  // "HRTP"
constexpr std::uint32_t kVersion = 1;
constexpr std::int64_t kMaxSide = std::int64_t{1} << 30;

struct Header {
  std::uint32_t magic, version;
  std::int32_t source_height, source_width, source_channels;
  std::int32_t height, width, channels;
};
static_assert(sizeof(Header) == 32);

ImageSpec Spec(std::int32_t height, std::int32_t width, std::int32_t channels) {
  return {height, width, channels, DType::kU8, Layout::kHwc};
}

bool IsSane(const ImageSpec& spec) {
  return spec.height > 0 && spec.width > 0 && spec.height * spec.width <= kMaxSide &&
         (spec.channels == 1 || spec.channels == 3);
}

}  // namespace

void AllocatePayload(const ImageSpec& source, const ImageSpec& image, Bytes* payload,
                     MutableByteSpan* pixels) {
  const Header header{kMagic,
                      kVersion,
                      static_cast<std::int32_t>(source.height),
                      static_cast<std::int32_t>(source.width),
                      source.channels,
                      static_cast<std::int32_t>(image.height),
                      static_cast<std::int32_t>(image.width),
                      image.channels};
  payload->resize(sizeof(header) + image.bytes() + ScratchBuffer::kSlack);
  std::memcpy(payload->data(), &header, sizeof(header));
  *pixels = MutableByteSpan(*payload).subspan(sizeof(header), image.bytes());
}

Result<Payload> ReadPayload(ByteSpan payload) {
  Header header{};
  if (payload.size() < sizeof(header)) return DataLoss("cached sample without a header");
  std::memcpy(&header, payload.data(), sizeof(header));
  Payload read;
  read.source = Spec(header.source_height, header.source_width, header.source_channels);
  const ImageSpec spec = Spec(header.height, header.width, header.channels);
  if (header.magic != kMagic || header.version != kVersion || !IsSane(read.source) ||
      !IsSane(spec) || payload.size() != sizeof(header) + spec.bytes() + ScratchBuffer::kSlack) {
    return DataLoss("not a cached sample of version " + std::to_string(kVersion));
  }
  const auto channels = static_cast<std::size_t>(spec.channels);
  read.image = Image{reinterpret_cast<const std::uint8_t*>(payload.data()) + sizeof(header),
                     static_cast<std::size_t>(spec.width) * channels, channels, spec,
                     Window{0, 0, spec.height, spec.width}};
  return read;
}

}  // namespace headrace::ops
