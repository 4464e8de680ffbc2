#include "dataworker/session/picture_memory.h"

#include <string>
#include <utility>

#include "base/log.h"

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kBytesAPixel = 8;
constexpr Duration kComplainEvery = std::chrono::seconds(1);

}  // namespace

std::uint64_t PictureMemory::BytesFor(const TensorSpec& picture, int files) {
  if (picture.layout != Layout::kHwc) return 0;
  return static_cast<std::uint64_t>(picture.dims[0]) * static_cast<std::uint64_t>(picture.dims[1]) *
         kBytesAPixel * static_cast<std::uint64_t>(files);
}

Status PictureMemory::Admit(const TensorSpec& picture, const Source& source, std::int64_t row,
                            LargeScratch& scratch, std::function<bool()> gives_up) {
  const std::uint64_t bytes = BytesFor(picture, source.files());
  if (bytes <= WorkerMemory::kSmallPicture) return {};
  Result<WorkerMemory::Lease> lease = memory_->TakeInTurn(
      bytes, "a picture of " + picture.ToString(), {kPatience, reclaim_, std::move(gives_up)});
  if (lease.ok()) {
    scratch.Hold(std::move(lease).value());
    return {};
  }
  Complain(lease.status(), source.NameOf(row));
  return lease.status();
}

void PictureMemory::Complain(const Status& why, const std::string& name) {
  std::uint64_t times = 0;
  {
    const std::lock_guard lock(mutex_);
    ++unsaid_;
    const SteadyTime now = clock_.Now();
    if (complained_ != SteadyTime{} && now - complained_ < kComplainEvery) return;
    complained_ = now;
    times = std::exchange(unsaid_, 0);
  }
  LogWarning("a sample is left to its trainer: " + why.message() + " file=" + name +
             " times=" + std::to_string(times));
}

}  // namespace headrace::dataworker
