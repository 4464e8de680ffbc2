#include "dataworker/cache/disk/segment_folder.h"

#include <dirent.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/hash.h"
#include "base/process/private_directory.h"
#include "base/version.h"
#include "dataworker/exec/io_executor.h"

namespace headrace::dataworker {
namespace {

constexpr int kSearchers = 8;  // threads: a disk reads faster for several
constexpr std::string_view kSegmentEnd = ".segment";

struct SegmentName {
  std::uint64_t number = 0, maker = 0;
};
std::optional<SegmentName> ParseName(std::string_view name) {
  SegmentName parsed;
  const char* const end = name.data() + name.size();
  const auto number = std::from_chars(name.data(), end, parsed.number);
  if (number.ec != std::errc() || number.ptr == end || *number.ptr != '-') return std::nullopt;
  const auto maker = std::from_chars(number.ptr + 1, end, parsed.maker, 16);
  if (maker.ec != std::errc() || std::string_view(maker.ptr, end) != kSegmentEnd) {
    return std::nullopt;
  }
  return parsed;
}

std::string FolderWithoutNames() {
  const char* const asked = std::getenv("TMPDIR");
  return asked != nullptr && *asked != '\0' ? asked : "/var/tmp";
}

// A list must not be taken for that of a later segment of its number.
void DropListWithoutSegment(const std::filesystem::path& path) {
  const std::filesystem::path segment = std::filesystem::path(path).replace_extension();
  if (Segment::ListPath(segment) != path.string() || !ParseName(segment.filename().string()))
    return;
  if (::access(segment.c_str(), F_OK) != 0) ::unlink(path.c_str());
}

constexpr int kNewFile = O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW;

UniqueFd OpenWithoutName() {
  const std::string folder = FolderWithoutNames();
  UniqueFd fd(::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0600));
  if (fd.valid()) return fd;
  std::string pattern = folder + "/headrace-cache-XXXXXX";  // the file system has no such files
  fd = UniqueFd(::mkostemp(pattern.data(), O_CLOEXEC));
  if (fd.valid()) ::unlink(pattern.c_str());
  return fd;
}

// Of the host, where it has one. Identities of files are a host's own.
std::uint64_t HostHash() {
  std::ifstream file("/etc/machine-id");
  std::string id;
  std::getline(file, id);
  return HashBytes(AsBytes(id));
}

}  // namespace

Result<std::unique_ptr<SegmentFolder>> SegmentFolder::Open(const std::string& path,
                                                           std::uint64_t maker, DiskCalls& calls) {
  std::unique_ptr<SegmentFolder> folder(new SegmentFolder(path, maker, calls));
  if (path.empty()) {
    const UniqueFd file = OpenWithoutName();
    folder->can_read_now_ = file.valid() && calls.CanReadNow(file.get());
    return folder;
  }
  HR_RETURN_IF_ERROR(MakePrivateDirectory(path));
  HR_RETURN_IF_ERROR(folder->Lock());
  folder->can_read_now_ = calls.CanReadNow(folder->lock_.get());
  folder->LookThrough();
  return folder;
}

Status SegmentFolder::Lock() {
  const std::string path = path_ + "/lock";
  lock_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!lock_.valid()) return ErrnoStatus(errno, path);
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return ErrnoStatus(errno, path);
    return Unavailable("another worker has " + path_ + "; give each a directory of its own");
  }
  return {};
}

void SegmentFolder::LookThrough() {
  std::error_code failed;
  for (const auto& entry : std::filesystem::directory_iterator(path_, failed)) {
    const std::string name = entry.path().filename();
    const std::optional<SegmentName> parsed = ParseName(name);
    if (!parsed) {
      DropListWithoutSegment(entry.path());
      continue;
    }
    next_ = std::max(next_.load(), parsed->number + 1);
    if (parsed->maker == maker_) {
      left_.push_back(parsed->number);
    } else {
      ::unlink(entry.path().c_str());
      ::unlink(Segment::ListPath(entry.path()).c_str());
    }
  }
  std::ranges::sort(left_);
}

std::string SegmentFolder::PathOf(std::uint64_t number) const {
  std::array<char, 64> name{};
  std::snprintf(name.data(), name.size(), "/%llu-%016llx", static_cast<unsigned long long>(number),
                static_cast<unsigned long long>(maker_));
  return path_ + name.data() + std::string(kSegmentEnd);
}

std::shared_ptr<Segment> SegmentFolder::Make(std::uint64_t bytes) {
  const std::string path = path_.empty() ? std::string() : PathOf(next_.fetch_add(1));
  return std::make_shared<Segment>(
      calls_, [this, path, bytes] { return MakeFile(path, bytes); }, path, bytes);
}

Result<UniqueFd> SegmentFolder::MakeFile(const std::string& path, std::uint64_t bytes) const {
  UniqueFd fd = path.empty() ? OpenWithoutName() : UniqueFd(::open(path.c_str(), kNewFile, 0600));
  if (!fd.valid()) return ErrnoStatus(errno, "a new file of the disk cache");
  int error = ::ftruncate(fd.get(), static_cast<off_t>(bytes)) == 0 ? 0 : errno;
  if (error == 0) error = calls_.Reserve(fd.get(), bytes);
  if (error == 0) return fd;
  if (!path.empty()) ::unlink(path.c_str());
  return ErrnoStatus(error, "room for a new file of the disk cache");
}

std::vector<SegmentFolder::Found> SegmentFolder::TakeFound(std::uint64_t budget,
                                                           std::uint64_t per_entry) {
  const std::vector<std::uint64_t> numbers = std::exchange(left_, {});
  std::vector<Found> found(numbers.size());
  IoExecutor searchers(kSearchers);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    searchers.Submit([this, path = PathOf(numbers[i]), into = &found[i]] {
      UniqueFd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW));
      struct stat about {};
      if (!fd.valid() || ::fstat(fd.get(), &about) != 0 || !S_ISREG(about.st_mode)) return;
      const auto size = static_cast<std::uint64_t>(about.st_size);
      into->segment = std::make_shared<Segment>(calls_, std::move(fd), path, size);
      into->list = into->segment->FindRecords();
    });
  }
  searchers.Stop();
  std::erase_if(found, [](const Found& each) { return each.list.records.empty(); });
  std::size_t first = found.size();
  while (first > 0) {
    const Found& next = found[first - 1];
    const std::uint64_t takes = next.segment->size() + next.list.records.size() * per_entry;
    if (takes > budget) break;
    budget -= takes;
    --first;
  }
  found.erase(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(first));
  return found;
}

std::uint64_t MakerOfPayloads() {
  std::uint64_t maker = MixBits(HashBytes(AsBytes(kVersion)) + HostHash());
  ::dl_iterate_phdr(
      [](dl_phdr_info* object, std::size_t, void* data) {
        auto& hash = *static_cast<std::uint64_t*>(data);
        if (std::string_view(object->dlpi_name).starts_with("linux-vdso"))
          return 0;  // the kernel's
        for (int i = 0; i < object->dlpi_phnum; ++i) {
          const ElfW(Phdr)& part = object->dlpi_phdr[i];
          if (part.p_type != PT_NOTE) continue;
          const auto* const begin =
              reinterpret_cast<const std::byte*>(object->dlpi_addr + part.p_vaddr);
          hash = MixBits(hash + HashBytes({begin, part.p_memsz}));
        }
        return 0;
      },
      &maker);
  return maker;
}

}  // namespace headrace::dataworker
