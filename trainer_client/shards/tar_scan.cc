#include "trainer_client/shards/tar_scan.h"

#include <algorithm>
#include <utility>

namespace headrace::client {
namespace {

using Kind = TarHeader::Kind;

// "a/b.c.jpg" -> "a/b" and "c.jpg"; nullopt: no member of a sample.
struct Parts {
  std::string_view key;
  std::string ending;  // in lower case
};
std::optional<Parts> PartsOf(std::string_view name) {
  const std::size_t slash = name.rfind('/');
  const std::size_t file = slash == std::string_view::npos ? 0 : slash + 1;
  const std::size_t point = name.find('.', file);
  if (point == std::string_view::npos || point == file) return std::nullopt;
  Parts parts{name.substr(0, point), std::string(name.substr(point + 1))};
  std::ranges::transform(parts.ending, parts.ending.begin(), [](char c) {
    return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  return parts;
}

std::size_t PlaceIn(const std::vector<std::string>& list, const std::string& one) {
  return static_cast<std::size_t>(std::ranges::find(list, one) - list.begin());
}

std::string Listed(const std::vector<std::string>& endings) {
  std::string text;
  for (const std::string& one : endings) text += (text.empty() ? "." : ", .") + one;
  return text;
}

}  // namespace

Status TarScan::At(Status status) const {
  return {status.code(), "at byte " + std::to_string(at_) + ": " + status.message()};
}

Status TarScan::Take(ByteSpan bytes) {
  const std::uint64_t begin = want_.first;
  if (size_ == 0) return DataLoss("the tar is empty");
  if (done_ || (bytes.size() < want_.bytes && at_ < size_)) {
    return InvalidArgument("fewer bytes than wanted");
  }
  while (!done_) {
    if (at_ == size_) {  // some programs write no end
      done_ = true;
      break;
    }
    if (size_ - at_ < kTarBlock) return At(DataLoss("the tar ends in a header: it is torn"));
    if (at_ - begin > bytes.size()) {
      want_ = {at_, kTarBlock};
      return {};
    }
    HR_TRY(const bool went, Step(bytes.subspan(at_ - begin)));
    if (!went) return {};
  }
  return EndSample();
}

Result<bool> TarScan::Step(ByteSpan rest) {
  want_ = {at_, kTarBlock};
  if (rest.size() < kTarBlock) return false;
  Result<std::optional<TarHeader>> read = ReadTarHeader(rest);
  if (!read.ok()) {
    const bool packed =
        at_ == 0 && (AsText(rest).starts_with("\x1f\x8b") || AsText(rest).starts_with("BZh") ||
                     AsText(rest).starts_with("\xfd"
                                              "7zXZ") ||
                     AsText(rest).starts_with("\x28\xb5\x2f\xfd"));
    if (packed) {
      return Unsupported("it is compressed, so that no sample can be read by itself: unpack it");
    }
    return At(read.status());
  }
  if (!*read) {
    done_ = true;
    return true;
  }
  const TarHeader& header = **read;
  const bool is_file = header.kind == Kind::kFile;
  const bool describes = header.kind == Kind::kLongName || header.kind == Kind::kPax ||
                         header.kind == Kind::kPaxGlobal;
  std::string name = header.name;
  std::uint64_t size = header.data_bytes();
  if (!describes && header.kind != Kind::kLongTarget) {
    if (said_.path) name = *said_.path;
    if (said_.size && (is_file || header.kind == Kind::kUnknown)) size = *said_.size;
  }
  const std::uint64_t left = size_ - at_ - kTarBlock;
  if (size > left || Padded(size) > left) {
    return At(DataLoss("the tar ends in '" + name + "': it is torn"));
  }
  if (header.kind == Kind::kSparse) {
    return At(Unsupported("'" + name + "' is sparse: its holes are not in the tar"));
  }
  std::uint64_t wanted = 0;
  if (describes) {
    if (size > kMostHeaderData) return At(DataLoss("a header of more than 1 MiB"));
    wanted = size;
  } else if (is_file && IsKept(header, name)) {
    if (size > kMostKept) {
      return At(Unsupported("'" + name + "' is larger than a target may be, 1 MiB"));
    }
    wanted = size;
  }
  if (rest.size() < kTarBlock + wanted) {
    want_ = {at_, kTarBlock + wanted};
    return false;
  }
  const std::string_view data = AsText(rest.subspan(kTarBlock, wanted));
  if (describes) {
    if (Status taken = TakeHeaderData(header, data); !taken.ok()) return At(taken);
  } else if (header.kind != Kind::kLongTarget) {
    if (Status taken = TakeMember(header, name, size, data); !taken.ok()) return At(taken);
    said_ = {};
  }
  at_ += kTarBlock + Padded(size);
  return true;
}

Status TarScan::TakeHeaderData(const TarHeader& header, std::string_view data) {
  // What came first holds: so does tarfile.
  if (header.kind == Kind::kLongName) {
    if (!said_.path) said_.path = data.substr(0, data.find('\0'));
    return {};
  }
  HR_TRY(PaxRecords records, ReadPaxRecords(data));
  if (records.sparse) return Unsupported("a sparse file: its holes are not in the tar");
  if (header.kind == Kind::kPaxGlobal) {
    if (!records.path && !records.size) return {};
    return Unsupported("a global header that names all members or gives them a size");
  }
  if (records.path && !said_.path) {
    said_.path = std::move(records.path);
    while (said_.path->ends_with('/')) said_.path->pop_back();
  }
  if (records.size && !said_.size) said_.size = records.size;
  return {};
}

bool TarScan::IsKept(const TarHeader& header, const std::string& name) const {
  if (rules_.kept.empty() || header.kind != Kind::kFile) return false;
  const std::optional<Parts> parts = PartsOf(name);
  return parts && parts->ending == rules_.kept;
}

Status TarScan::TakeMember(const TarHeader& header, const std::string& name, std::uint64_t size,
                           std::string_view data) {
  const std::optional<Parts> parts = PartsOf(name);
  const bool is_link = header.kind == Kind::kLink;
  if (!parts || (header.kind != Kind::kFile && !is_link)) return {};
  const std::size_t image = PlaceIn(rules_.images, parts->ending);
  if (is_link) {
    if (image == rules_.images.size()) return {};
    return Unsupported("'" + name +
                       "' is a link: pack the files themselves (tar --dereference "
                       "--hard-dereference)");
  }
  if (!open_.is_open || open_.key != parts->key) {
    HR_RETURN_IF_ERROR(EndSample());
    open_ = {.is_open = true,
             .key = std::string(parts->key),
             .image = rules_.images.size(),
             .target = rules_.targets.size()};
  }
  if (std::ranges::find(open_.seen, parts->ending) != open_.seen.end()) {
    return InvalidArgument("a second '" + name + "' in one sample");
  }
  if (open_.seen.size() == kMostMembers) {
    return InvalidArgument("the sample '" + open_.key + "' has too many members");
  }
  open_.seen.push_back(parts->ending);
  if (image < open_.image) {
    open_.image = image;
    open_.first = at_ + kTarBlock;
    open_.size = size;
  }
  const std::size_t target = PlaceIn(rules_.targets, parts->ending);
  if (target < open_.target) {
    open_.target = target;
    open_.target_first = at_ + kTarBlock;
    open_.target_size = size;
    open_.kept = data;
  }
  return {};
}

Status TarScan::EndSample() {
  if (!open_.is_open) return {};
  open_.is_open = false;
  const std::string sample = "the sample '" + open_.key + "' has ";
  if (open_.image == rules_.images.size()) {
    return InvalidArgument(sample + "no image (" + Listed(rules_.images) +
                           "): image= says what images are called here");
  }
  if (!rules_.targets.empty() && open_.target == rules_.targets.size()) {
    return InvalidArgument(sample + "no target (" + Listed(rules_.targets) +
                           "): target= says what targets are called here; None: there are none");
  }
  if (open_.size > 0xffffffff || open_.target_size > 0xffffffff) {
    return Unsupported(sample + "4 GiB or more");
  }
  samples_.keys += open_.key;
  samples_.key_ends.push_back(static_cast<std::int64_t>(samples_.keys.size()));
  samples_.firsts.push_back(open_.first);
  samples_.sizes.push_back(static_cast<std::uint32_t>(open_.size));
  samples_.target_firsts.push_back(open_.target_first);
  samples_.target_sizes.push_back(static_cast<std::uint32_t>(open_.target_size));
  samples_.targets.push_back(static_cast<std::uint8_t>(open_.target));
  samples_.kept += open_.kept;
  samples_.kept_ends.push_back(static_cast<std::int64_t>(samples_.kept.size()));
  return {};
}

}  // namespace headrace::client
