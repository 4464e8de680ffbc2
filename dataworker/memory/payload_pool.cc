#include "dataworker/memory/payload_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kGranularity = std::uint64_t{64} << 10;

}  // namespace

// A map of its own, so that its memory certainly goes back to the system.
class PayloadPool::Block {
 public:
  static std::unique_ptr<Block> Make(std::uint64_t bytes, WorkerMemory::Lease lease) {
    void* mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    return std::unique_ptr<Block>(
        new Block({static_cast<std::byte*>(mapped), bytes}, std::move(lease)));
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { ::munmap(memory_.data(), memory_.size()); }
  [[nodiscard]] MutableByteSpan memory() const { return memory_; }

 private:
  Block(MutableByteSpan memory, WorkerMemory::Lease lease)
      : memory_(memory), lease_(std::move(lease)) {}
  const MutableByteSpan memory_;
  const WorkerMemory::Lease lease_;
};

struct PayloadPool::Shared {
  Shared(std::uint64_t limit_bytes, std::uint64_t kept_bytes, std::shared_ptr<WorkerMemory> of)
      : limit(limit_bytes), most_kept(kept_bytes), all(std::move(of)) {}

  // Takes `bytes` off the account.
  void Return(JobId job, std::uint64_t bytes) {
    lent -= bytes;
    const auto of_job = by_job.find(job);
    if ((of_job->second -= bytes) == 0) by_job.erase(of_job);
  }
  void GiveBack(JobId job, std::unique_ptr<Block> block) {
    const std::uint64_t bytes = block->memory().size();
    const std::lock_guard lock(mutex);  // goes before a block that is not kept
    Return(job, bytes);
    if (kept + bytes > most_kept) return;
    kept += bytes;
    free.push_back(std::move(block));
  }
  std::vector<std::unique_ptr<Block>> TakeKept() {
    const std::lock_guard lock(mutex);
    kept = 0;
    return std::exchange(free, {});
  }

  const std::uint64_t limit;
  const std::uint64_t most_kept;
  const std::shared_ptr<WorkerMemory> all;
  std::mutex mutex;
  // Guarded by mutex:
  std::uint64_t lent = 0;
  std::map<JobId, std::uint64_t> by_job;  // of `lent`
  std::uint64_t kept = 0;
  std::vector<std::unique_ptr<Block>> free;
};

PayloadPool::PayloadPool(std::uint64_t limit_bytes, std::uint64_t kept_bytes,
                         std::shared_ptr<WorkerMemory> memory)
    : shared_(std::make_shared<Shared>(limit_bytes, kept_bytes, std::move(memory))) {}

Result<PayloadPool::Buffer> PayloadPool::Take(JobId job, std::uint64_t bytes) {
  if (bytes > shared_->limit) {
    return ResourceExhausted("a batch of " + std::to_string(bytes) + " bytes is too large");
  }
  const std::uint64_t rounded =
      std::max((bytes + kGranularity - 1) / kGranularity * kGranularity, kGranularity);
  std::unique_ptr<Block> block;
  {
    const std::lock_guard lock(shared_->mutex);
    const std::uint64_t limit = shared_->limit;
    if (rounded > limit || shared_->lent > limit - rounded) {
      return ResourceExhausted(std::to_string(shared_->lent) +
                               " bytes of batches are on their way already");
    }
    const auto of_job = shared_->by_job.find(job);
    if (of_job != shared_->by_job.end() && shared_->lent + rounded > limit / 2 &&
        of_job->second + rounded > limit / 8) {
      return ResourceExhausted(std::to_string(of_job->second) + " bytes of the job's batches are " +
                               "on their way already, and others need the rest");
    }
    // Finds the smallest that fits and does not waste more than it uses.
    auto best = shared_->free.end();
    for (auto it = shared_->free.begin(); it != shared_->free.end(); ++it) {
      const std::uint64_t size = (*it)->memory().size();
      if (size < rounded || size > 2 * rounded) continue;
      if (best == shared_->free.end() || size < (*best)->memory().size()) best = it;
    }
    std::uint64_t lends = rounded;
    if (best != shared_->free.end()) {
      block = std::move(*best);
      shared_->free.erase(best);
      lends = block->memory().size();
      shared_->kept -= lends;
    }
    shared_->lent += lends;
    shared_->by_job[job] += lends;
  }
  if (!block) {
    const std::string what = "a batch of " + std::to_string(bytes) + " bytes";
    Result<WorkerMemory::Lease> lease = shared_->all->Take(rounded, what);
    if (!lease.ok()) {
      (void)shared_->TakeKept();  // of other sizes
      lease = shared_->all->Take(rounded, what);
    }
    if (lease.ok()) block = Block::Make(rounded, std::move(lease).value());
    if (!block) {
      const std::lock_guard lock(shared_->mutex);
      shared_->Return(job, rounded);
      if (lease.ok()) return ResourceExhausted("no memory for " + what);
      const Status& why = lease.status();
      return why.code() == Code::kUnsupported ? Unavailable(why.message()) : why;
    }
  }
  const MutableByteSpan memory = block->memory().first(bytes);
  std::shared_ptr<const void> hold(block.release(), [shared = shared_, job](Block* returned) {
    shared->GiveBack(job, std::unique_ptr<Block>(returned));
  });
  return Buffer{memory, std::move(hold)};
}

void PayloadPool::Trim() { (void)shared_->TakeKept(); }

std::uint64_t PayloadPool::lent_bytes() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->lent;
}

}  // namespace headrace::dataworker
