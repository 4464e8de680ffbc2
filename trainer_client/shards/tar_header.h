#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/buffer.h"
#include "base/result.h"

// Headers of tar files: ustar, GNU's and pax's. Pure. Sources: POSIX.1-2017 (pax, "ustar Interchange
// Format"), GNU tar's manual ("Basic Tar Format"). Where they leave a choice it is that of Python's
// tarfile, by which WebDataset reads.
namespace headrace::client {

inline constexpr std::uint64_t kTarBlock = 512;
// No file is so large; sums of such sizes do not overflow.
inline constexpr std::uint64_t kMostTarSize = std::uint64_t{1} << 60;

struct TarHeader {
  enum class Kind : std::uint8_t {
    kFile,
    kLink,        // hard or symbolic: it has no data of its own
    kOther,       // a directory, a device: no data
    kUnknown,     // data that is passed over
    kLongName,    // GNU: its data is the next one's name
    kLongTarget,  // GNU: of the link that follows
    kPax,         // its data is records on the next one
    kPaxGlobal,   // ... on all that follow
    kSparse,      // GNU: holes are left out
  };
  Kind kind = Kind::kFile;
  std::string name;
  std::uint64_t size = 0;  // as the header has it; [0, kMostTarSize]

  // Of what follows the header, without padding.
  [[nodiscard]] std::uint64_t data_bytes() const {
    return kind == Kind::kLink || kind == Kind::kOther ? 0 : size;
  }
};

// kDataLoss: no header, with the reason. nullopt: a block of zeros, which ends a tar. REQUIRES: kTarBlock
// bytes.
[[nodiscard]] Result<std::optional<TarHeader>> ReadTarHeader(ByteSpan block);

// What pax's records say of the next member.
struct PaxRecords {
  std::optional<std::string> path;
  std::optional<std::uint64_t> size;
  bool sparse = false;
};
// kDataLoss: damaged.
[[nodiscard]] Result<PaxRecords> ReadPaxRecords(std::string_view data);

// Bytes to the end of the last block.
[[nodiscard]] constexpr std::uint64_t Padded(std::uint64_t bytes) {
  return (bytes + kTarBlock - 1) / kTarBlock * kTarBlock;
}

}  // namespace headrace::client
