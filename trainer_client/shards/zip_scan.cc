#include "trainer_client/shards/zip_scan.h"

#include <algorithm>
#include <numeric>
#include <tuple>

namespace headrace::client {
namespace {

constexpr std::uint64_t kLocalHeader = 30, kMostExtra = 65535;
constexpr unsigned kStored = 0, kDeflated = 8;
constexpr std::uint64_t kMostReserved = std::uint64_t{1} << 24;  // entries
// Source: RFC 1951: 258 bytes in two bits.
constexpr std::uint64_t kMostInflation = 1032;
// Where macOS keeps what its files have beside their bytes.
constexpr std::string_view kBeside = "__MACOSX/";

bool EndsWith(std::string_view name, const std::string& ending) {
  if (name.size() <= ending.size() || name[name.size() - ending.size() - 1] != '.') return false;
  return std::ranges::equal(name.substr(name.size() - ending.size()), ending, {}, [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
}

bool IsPlaceBelow(std::string_view name) {
  if (name.find('\0') != std::string_view::npos) return false;
  while (true) {
    const std::size_t slash = name.find('/');
    const std::string_view part = name.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash == std::string_view::npos) return true;
    name.remove_prefix(slash + 1);
  }
}

// What an ImageFolder sorts by: class, folder, file. REQUIRES: a name below the folder.
auto PlaceOf(std::string_view name, const ZipRules& rules) {
  name.remove_prefix(rules.folder.size());
  const std::size_t last = name.rfind('/');
  const std::string_view folder = name.substr(0, last == std::string_view::npos ? 0 : last);
  const std::string_view of_class =
      rules.by_class ? folder.substr(0, folder.find('/')) : std::string_view();
  return std::tuple(of_class, folder, name.substr(last == std::string_view::npos ? 0 : last + 1));
}

std::string Quoted(std::string_view name) {
  std::string quoted(1, '\'');
  return quoted.append(Shown(name)).append(1, '\'');
}

template <typename T>
void Permute(std::vector<T>& items, const std::vector<std::uint32_t>& order) {
  std::vector<T> made;
  made.reserve(items.size());
  for (const std::uint32_t from : order) made.push_back(items[from]);
  items.swap(made);
}

}  // namespace

ZipScan::ZipScan(std::uint64_t size, ZipRules rules) : size_(size), rules_(std::move(rules)) {
  want_.bytes = std::min(size, kZipTail);
  want_.first = size - want_.bytes;
}

Status ZipScan::Take(ByteSpan bytes) {
  if (done_ || bytes.size() < want_.bytes) return InvalidArgument("fewer bytes than wanted");
  return in_directory_ ? TakeEntries(bytes) : TakeEnd(bytes);
}

Status ZipScan::TakeEnd(ByteSpan tail) {
  const std::uint64_t tail_first = want_.first;
  tail = tail.first(want_.bytes);
  HR_TRY(end_, ReadZipEnd(tail, size_));
  in_directory_ = true;
  // Vectors that grow take twice the room; one that a stranger asks for is no larger than usual ones.
  const auto entries = std::min<std::uint64_t>(end_.entries, kMostReserved);
  starts_.reserve(entries);
  samples_.key_ends.reserve(entries);
  samples_.firsts.reserve(entries);
  samples_.members.reserve(entries);
  samples_.keys.reserve(std::min(end_.size - end_.entries * ZipHeader::kBytes, 64 * entries));
  at_ = end_.first;
  want_ = {at_, std::min<std::uint64_t>(ZipHeader::kBytes, end_.size)};
  // Of a small zip the directory is there already.
  if (end_.first < tail_first) return {};
  return TakeEntries(tail.subspan(end_.first - tail_first));
}

Status ZipScan::TakeEntries(ByteSpan bytes) {
  const std::uint64_t end = end_.first + end_.size;
  bytes = bytes.first(std::min<std::uint64_t>(bytes.size(), end - want_.first));
  while (at_ < end) {
    const ByteSpan rest = bytes.subspan(at_ - want_.first);
    std::uint64_t wanted = ZipHeader::kBytes;
    if (rest.size() >= wanted) wanted = ZipHeaderBytes(rest);
    if (wanted > end - at_) return DataLoss("its directory ends in an entry: it is damaged");
    if (rest.size() < wanted) {
      want_ = {at_, wanted};
      return {};
    }
    Result<ZipHeader> header = ReadZipHeader(rest);
    if (!header.ok()) {
      return header.status().WithContext("at byte " + std::to_string(at_));
    }
    HR_RETURN_IF_ERROR(TakeEntry(*header));
    at_ += wanted;
  }
  if (starts_.size() != end_.entries) {
    return DataLoss("its directory has " + std::to_string(starts_.size()) + " entries, not " +
                    std::to_string(end_.entries));
  }
  HR_RETURN_IF_ERROR(Finish());
  done_ = true;
  return {};
}

Status ZipScan::TakeEntry(const ZipHeader& header) {
  if (header.first > end_.first || end_.shift > end_.first - header.first) {
    return DataLoss(Quoted(header.name) + " begins after the end of the zip");
  }
  const std::uint64_t first = header.first + end_.shift;
  starts_.push_back(first);
  if (!IsSample(header.name)) return {};
  if (!IsPlaceBelow(header.name)) {
    return InvalidArgument(Quoted(header.name) + " is no name of a file below a folder");
  }
  if (header.encrypted()) {
    return Unsupported(Quoted(header.name) +
                       " is encrypted: workers get no password, so pack the files without one");
  }
  if (header.method != kStored && header.method != kDeflated) {
    return Unsupported(Quoted(header.name) + " is packed by method " +
                       std::to_string(header.method) + ": pack with 'zip -0' or 'zip'");
  }
  if (header.size > kMostBytes || header.packed_size > kMostBytes) {
    return Unsupported(Quoted(header.name) + " is larger than 1 GiB");
  }
  if (header.method == kStored ? header.size != header.packed_size
                               : header.size > kMostInflation * (header.packed_size + 1)) {
    return DataLoss(Quoted(header.name) + " cannot have the sizes that it has");
  }
  if (samples_.firsts.size() == 0xffffffff) return Unsupported("too many members");
  samples_.keys += header.name;
  samples_.key_ends.push_back(static_cast<std::int64_t>(samples_.keys.size()));
  samples_.firsts.push_back(first);
  samples_.members.push_back({static_cast<std::uint32_t>(header.packed_size),
                              static_cast<std::uint32_t>(header.size), header.crc});
  return {};
}

bool ZipScan::IsSample(std::string_view name) const {
  if (!name.starts_with(rules_.folder) || name.starts_with(kBeside)) return false;
  const std::string_view below = name.substr(rules_.folder.size());
  if (rules_.by_class && below.find('/') == std::string_view::npos) return false;
  return std::ranges::any_of(rules_.images,
                             [&](const std::string& ending) { return EndsWith(below, ending); });
}

std::string_view ZipScan::NameOf(std::size_t row) const {
  const auto begin = static_cast<std::size_t>(row == 0 ? 0 : samples_.key_ends[row - 1]);
  return std::string_view(samples_.keys)
      .substr(begin, static_cast<std::size_t>(samples_.key_ends[row]) - begin);
}

Status ZipScan::Finish() {
  std::ranges::sort(starts_);
  const std::size_t rows = samples_.firsts.size();
  samples_.sizes.reserve(rows);
  for (std::size_t row = 0; row < rows; ++row) {
    const std::uint64_t first = samples_.firsts[row];
    const auto next = std::ranges::upper_bound(starts_, first);
    const bool shared = next - starts_.begin() > 1 && *(next - 2) == first;
    const std::uint64_t limit = next == starts_.end() ? end_.first : *next;
    const std::uint64_t least = kLocalHeader + samples_.members[row].packed_size;
    if (shared || limit - first < least) {
      return DataLoss(Quoted(NameOf(row)) +
                      " overlaps another member: the zip is damaged, or a bomb");
    }
    // The local header may have more or less beside the name than the directory has.
    const std::uint64_t most = least + NameOf(row).size() + kMostExtra;
    samples_.sizes.push_back(static_cast<std::uint32_t>(std::min(limit - first, most)));
  }
  std::vector<std::uint32_t> order(rows);
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, [this](std::uint32_t a, std::uint32_t b) {
    return PlaceOf(NameOf(a), rules_) < PlaceOf(NameOf(b), rules_);
  });
  std::string keys;
  std::vector<std::int64_t> ends;
  keys.reserve(samples_.keys.size());
  ends.reserve(rows);
  for (std::size_t i = 0; i < rows; ++i) {
    const std::string_view name = NameOf(order[i]);
    if (i > 0 && name == NameOf(order[i - 1])) {
      return InvalidArgument("a second " + Quoted(name));
    }
    keys += name;
    ends.push_back(static_cast<std::int64_t>(keys.size()));
  }
  samples_.keys.swap(keys);
  samples_.key_ends.swap(ends);
  Permute(samples_.firsts, order);
  Permute(samples_.sizes, order);
  Permute(samples_.members, order);
  starts_ = {};
  return {};
}

}  // namespace headrace::client
