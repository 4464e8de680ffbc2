// Encoded images in files: the paths and labels of a file table.
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "dataworker/source/core/source.h"
#include "schemas/wire/message.h"

namespace headrace::dataworker {
namespace {

class File {
 public:
  File() = default;
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  [[nodiscard]] int fd() const { return fd_; }

 private:
  int fd_ = -1;
};

// Says that a file is not there as what a sample's failure is.
Status FileStatus(int error_number, const std::string& path) {
  const Status status = ErrnoStatus(error_number, path);
  return status.code() == Code::kNotFound ? status.WithDetail(Detail::kNoFile) : status;
}

// Opens what paths name; with allowed roots, only what lies in one of them.
class Opener {
 public:
  explicit Opener(std::vector<std::string> roots) : roots_(std::move(roots)) {}

  [[nodiscard]] bool restricted() const { return !roots_.empty(); }
  // Opened for fstat only.
  [[nodiscard]] Result<File> Place(const std::string& path) const {
    File place(::open(path.c_str(), O_PATH | O_CLOEXEC));
    if (place.fd() < 0) return FileStatus(errno, path);
    // Checks the opened file, not its name, which may mean another file a moment later.
    std::array<char, PATH_MAX> real{};
    const ssize_t size = ::readlink(Handle(place).c_str(), real.data(), real.size());
    if (size < 0) return FileStatus(errno, path);
    const std::string_view at(real.data(), static_cast<std::size_t>(size));
    if (std::any_of(roots_.begin(), roots_.end(), [&](const auto& r) { return Below(at, r); })) {
      return place;
    }
    const std::string where = at == path ? path : path + " -> " + std::string(at);
    if (!warned_.exchange(true)) LogWarning("outside of every --allow-root: " + where);
    return Unavailable(where + ": this worker reads below its --allow-root only")
        .WithDetail(Detail::kNotAllowed);
  }
  // O_NONBLOCK: a FIFO in the list must not hang the thread. It changes nothing for regular files.
  [[nodiscard]] Result<File> Open(const std::string& path) const {
    constexpr int kFlags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
    if (restricted()) {
      HR_TRY(const File allowed, Place(path));
      File file(::open(Handle(allowed).c_str(), kFlags));
      if (file.fd() < 0) return FileStatus(errno, path);
      return file;
    }
    File file(::open(path.c_str(), kFlags));
    if (file.fd() < 0) return FileStatus(errno, path);
    return file;
  }

 private:
  static std::string Handle(const File& file) {
    return "/proc/self/fd/" + std::to_string(file.fd());
  }
  static bool Below(std::string_view path, std::string_view root) {
    return root == "/" ||
           (path.starts_with(root) && (path.size() == root.size() || path[root.size()] == '/'));
  }

  const std::vector<std::string> roots_;  // real paths
  mutable std::atomic<bool> warned_{false};
};

ContentIdentity IdentityOf(const struct stat& st) {
  constexpr std::int64_t kNanos = 1'000'000'000;
  return {.device = st.st_dev,
          .inode = st.st_ino,
          .size = static_cast<std::uint64_t>(st.st_size),
          .mtime_ns = st.st_mtim.tv_sec * kNanos + st.st_mtim.tv_nsec,
          .ctime_ns = st.st_ctim.tv_sec * kNanos + st.st_ctim.tv_nsec};
}

Status CheckRegular(const struct stat& st, const std::string& path) {
  if (S_ISDIR(st.st_mode)) return {Code::kUnsupported, "is a directory: " + path};
  if (!S_ISREG(st.st_mode)) return {Code::kUnsupported, "not a regular file: " + path};
  if (static_cast<std::uint64_t>(st.st_size) > Source::kMaxEncodedBytes) {
    return {Code::kUnsupported, "larger than 1 GiB: " + path};
  }
  return {};
}

// Reads [from, to) of the file; fewer bytes at its end.
Result<std::size_t> ReadRange(int fd, MutableByteSpan out, std::size_t from,
                              const std::string& path) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t n =
        ::pread(fd, out.data() + done, out.size() - done, static_cast<off_t>(from + done));
    if (n == 0) break;
    if (n < 0) {
      if (errno == EINTR) continue;
      return ErrnoStatus(errno, "read " + path);
    }
    done += static_cast<std::size_t>(n);
  }
  return done;
}

class LocalDir final : public Source {
 public:
  LocalDir(BlobContent table_bytes, wire::FileTableView table,
           const SourceRegistry::Environment& environment)
      : table_bytes_(std::move(table_bytes)),
        table_(std::move(table)),
        read_header_(environment.read_header),
        opener_(environment.allowed_roots) {}

  [[nodiscard]] std::int64_t rows() const override { return table_.size(); }
  [[nodiscard]] bool cacheable() const override { return true; }
  [[nodiscard]] bool rereads_from_memory() const override { return true; }

  [[nodiscard]] Result<ContentIdentity> Identify(std::int64_t row) const override {
    HR_RETURN_IF_ERROR(CheckRow(row));
    const std::string path = table_.Path(row);
    struct stat st;
    if (opener_.restricted()) {
      HR_TRY(const File place, opener_.Place(path));
      if (::fstat(place.fd(), &st) != 0) return FileStatus(errno, path);
    } else if (::stat(path.c_str(), &st) != 0) {
      return FileStatus(errno, path);
    }
    HR_RETURN_IF_ERROR(CheckRegular(st, path));
    return IdentityOf(st);
  }

  [[nodiscard]] Result<SourceSample> Read(std::int64_t row, ScratchBuffer& buffer) const override {
    HR_RETURN_IF_ERROR(CheckRow(row));
    const std::string path = table_.Path(row);
    HR_TRY(const File file, opener_.Open(path));
    struct stat before, after;
    if (::fstat(file.fd(), &before) != 0) return FileStatus(errno, path);
    HR_RETURN_IF_ERROR(CheckRegular(before, path));
    const auto size = static_cast<std::size_t>(before.st_size);
    const MutableByteSpan out{
        reinterpret_cast<std::byte*>(buffer.Ensure(std::max(size, std::size_t{1}))), size};
    HR_TRY(const std::size_t got, ReadRange(file.fd(), out, 0, path));
    // A writer may be at work: bytes of two versions must not get the identity of one.
    if (::fstat(file.fd(), &after) != 0) return FileStatus(errno, path);
    if (got != size || !(IdentityOf(before) == IdentityOf(after))) {
      return Unavailable("changed while it was read: " + path);
    }
    return SourceSample{.bytes = out, .encoded = true, .row = {}, .content = IdentityOf(before)};
  }

  [[nodiscard]] Result<FileWitness> BearWitness(std::int64_t row, bool whole) const override {
    HR_RETURN_IF_ERROR(CheckRow(row));
    const std::string path = table_.Path(row);
    HR_TRY(const File file, opener_.Open(path));
    return ReadWitness(file.fd(), whole, path);
  }

  [[nodiscard]] Result<TensorSpec> Describe(std::int64_t row,
                                            ScratchBuffer& buffer) const override {
    HR_RETURN_IF_ERROR(CheckRow(row));
    const std::string path = table_.Path(row);
    HR_TRY(const File file, opener_.Open(path));
    struct stat st;
    if (::fstat(file.fd(), &st) != 0) return FileStatus(errno, path);
    HR_RETURN_IF_ERROR(CheckRegular(st, path));
    const auto size = static_cast<std::size_t>(st.st_size);
    ByteSpan have;
    Status failed;
    const auto extend = [&](std::size_t wanted) -> ByteSpan {
      const std::size_t target = std::min(wanted, size);
      if (target <= have.size() || !failed.ok()) return have;
      // Ensure may lose the content, so the read starts over; headers that long are rare.
      const MutableByteSpan out{reinterpret_cast<std::byte*>(buffer.Ensure(target)), target};
      Result<std::size_t> got = ReadRange(file.fd(), out, 0, path);
      if (!got.ok()) {
        failed = got.status();
        have = {};
      } else {
        have = out.first(*got);
      }
      return have;
    };
    extend(kHeadBytes);
    HR_RETURN_IF_ERROR(failed);
    Result<TensorSpec> spec = read_header_(have, extend);
    HR_RETURN_IF_ERROR(failed);
    if (!spec.ok()) return spec.status().WithContext(path);
    return spec;
  }

  [[nodiscard]] const Column* column(std::int32_t index) const override {
    return index == 1 ? &label_ : nullptr;
  }
  Status CopyColumn(std::int32_t /*index*/, std::int64_t row, MutableByteSpan out) const override {
    HR_RETURN_IF_ERROR(CheckRow(row));
    const std::int64_t label = table_.Label(row);
    std::memcpy(out.data(), &label, sizeof(label));
    return {};
  }

 private:
  [[nodiscard]] Status CheckRow(std::int64_t row) const {
    if (row >= 0 && row < table_.size()) return {};
    return InvalidArgument("row " + std::to_string(row) + " of " + std::to_string(table_.size()));
  }

  BlobContent table_bytes_;  // keeps the view's memory
  wire::FileTableView table_;
  HeaderReader read_header_;
  Opener opener_;
  Column label_{.dtype = DType::kI64, .row_shape = {}, .row_bytes = sizeof(std::int64_t)};
};

Result<std::unique_ptr<Source>> MakeLocalDir(const SourceLeaf& leaf,
                                             const SourceRegistry::Environment& environment) {
  HR_RETURN_IF_ERROR(CheckNoArgs(leaf));
  BlobContent bytes = environment.blob(leaf.table);
  if (!bytes) return NotFound("the file table of the plan is missing");
  HR_TRY(wire::FileTableView table, wire::FileTableView::Open(*bytes));
  return std::unique_ptr<Source>(
      std::make_unique<LocalDir>(std::move(bytes), std::move(table), environment));
}

}  // namespace

void RegisterSourceLocalDir(SourceRegistry& registry) { registry.Add("local_dir", MakeLocalDir); }

}  // namespace headrace::dataworker
