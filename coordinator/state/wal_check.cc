#include "coordinator/state/wal_check.h"

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <string_view>
#include <vector>

namespace headrace::coordinator {
namespace {

constexpr std::size_t kHeaderBytes = 32;
constexpr std::size_t kFrameHeaderBytes = 24;
constexpr std::uint32_t kMagic = 0x377f0682;  // one more: checksums of big-endian words

using File = std::vector<unsigned char>;

std::uint32_t BigEndian(const File& file, std::size_t at) {
  return std::uint32_t{file[at]} << 24 | std::uint32_t{file[at + 1]} << 16 |
         std::uint32_t{file[at + 2]} << 8 | file[at + 3];
}

// The running checksum of the log.
struct Checksum {
  bool big_endian = false;
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  void Add(const File& file, std::size_t begin, std::size_t bytes) {
    for (std::size_t at = begin; at < begin + bytes; at += 8) {
      first += Word(file, at) + second;
      second += Word(file, at + 4) + first;
    }
  }
  [[nodiscard]] bool Is(const File& file, std::size_t at) const {
    return BigEndian(file, at) == first && BigEndian(file, at + 4) == second;
  }

 private:
  [[nodiscard]] std::uint32_t Word(const File& file, std::size_t at) const {
    const std::uint32_t word = BigEndian(file, at);
    return big_endian ? word : __builtin_bswap32(word);
  }
};

}  // namespace

Status CheckWal(const std::string& path) {
  std::ifstream stream(path, std::ios::binary);
  const File file{std::istreambuf_iterator<char>(stream), {}};
  if (file.size() < kHeaderBytes || (BigEndian(file, 0) & ~1U) != kMagic) return {};
  const std::size_t page = BigEndian(file, 8);
  if (page < 512 || page > 65536) return {};
  const std::size_t frame = kFrameHeaderBytes + page;
  // Frames of before the last checkpoint have other salts, and are no part of the log.
  const auto belongs = [&](std::size_t at) {
    return BigEndian(file, at + 8) == BigEndian(file, 16) &&
           BigEndian(file, at + 12) == BigEndian(file, 20);
  };
  Checksum sum{.big_endian = (BigEndian(file, 0) & 1) != 0};
  sum.Add(file, 0, kHeaderBytes - 8);
  bool valid = sum.Is(file, kHeaderBytes - 8);
  bool damaged_transaction_ended = !valid;  // frames after a wrong header are too many already
  for (std::size_t at = kHeaderBytes; at + frame <= file.size() && belongs(at); at += frame) {
    if (damaged_transaction_ended) {
      return DataLoss(path + ": changed before its last transaction, at byte " +
                      std::to_string(at) +
                      " or before it; move it and the journal away to start without them (running "
                      "jobs open themselves again), or restore both from a copy");
    }
    sum.Add(file, at, 8);
    sum.Add(file, at + kFrameHeaderBytes, page);
    valid = valid && sum.Is(file, at + 16);
    const bool commits = BigEndian(file, at + 4) != 0;
    if (!valid && commits) damaged_transaction_ended = true;
  }
  return {};
}

}  // namespace headrace::coordinator
