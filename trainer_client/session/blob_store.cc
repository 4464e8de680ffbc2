#include "trainer_client/session/blob_store.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <string>
#include <utility>

namespace headrace::client {

Result<int> BlobStore::Descriptor(BlobHash hash) {
  if (const auto at = descriptors_.find(hash); at != descriptors_.end()) return at->second.get();
  const ByteSpan data = blobs_.at(hash).data;
  UniqueFd fd(::memfd_create("headrace-blob", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!fd.valid()) return ErrnoStatus(errno, "memfd_create for a blob");
  const auto size = static_cast<off_t>(data.size());
  if (::ftruncate(fd.get(), size) != 0) return ErrnoStatus(errno, "sizing a blob");
  for (std::size_t done = 0; done < data.size();) {
    const ssize_t n =
        ::pwrite(fd.get(), data.data() + done, data.size() - done, static_cast<off_t>(done));
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) {
      return ErrnoStatus(n < 0 ? errno : ENOSPC,
                         "copying a blob of " + std::to_string(data.size()) + " bytes");
    }
    done += static_cast<std::size_t>(n);
  }
  if (::fcntl(fd.get(), F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) != 0) {
    return ErrnoStatus(errno, "sealing a blob");
  }
  const int number = fd.get();
  descriptors_.emplace(hash, std::move(fd));
  return number;
}

}  // namespace headrace::client
