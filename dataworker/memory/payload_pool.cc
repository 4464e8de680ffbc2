#include "dataworker/memory/payload_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <string>
#include <utility>

namespace headrace::dataworker {
namespace {

constexpr std::uint64_t kGranularity = std::uint64_t{64} << 10;

}  // namespace

// A map of its own, so that its memory certainly goes back to the system.
class PayloadPool::Block {
 public:
  static std::unique_ptr<Block> Make(std::uint64_t bytes) {
    void* mapped =
        ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    return std::unique_ptr<Block>(new Block({static_cast<std::byte*>(mapped), bytes}));
  }
  Block(const Block&) = delete;
  Block& operator=(const Block&) = delete;
  ~Block() { ::munmap(memory_.data(), memory_.size()); }
  [[nodiscard]] MutableByteSpan memory() const { return memory_; }

 private:
  explicit Block(MutableByteSpan memory) : memory_(memory) {}
  const MutableByteSpan memory_;
};

struct PayloadPool::Shared {
  Shared(std::uint64_t limit_bytes, std::uint64_t kept_bytes)
      : limit(limit_bytes), most_kept(kept_bytes) {}

  void GiveBack(std::unique_ptr<Block> block) {
    const std::lock_guard lock(mutex);
    const std::uint64_t bytes = block->memory().size();
    lent -= bytes;
    if (kept + bytes > most_kept) return;
    kept += bytes;
    free.push_back(std::move(block));
  }

  const std::uint64_t limit;
  const std::uint64_t most_kept;
  std::mutex mutex;
  // Guarded by mutex:
  std::uint64_t lent = 0;
  std::uint64_t kept = 0;
  std::vector<std::unique_ptr<Block>> free;
};

PayloadPool::PayloadPool(std::uint64_t limit_bytes, std::uint64_t kept_bytes)
    : shared_(std::make_shared<Shared>(limit_bytes, kept_bytes)) {}

Result<PayloadPool::Buffer> PayloadPool::Take(std::uint64_t bytes) {
  if (bytes > shared_->limit) {
    return ResourceExhausted("a batch of " + std::to_string(bytes) + " bytes is too large");
  }
  const std::uint64_t rounded =
      std::max((bytes + kGranularity - 1) / kGranularity * kGranularity, kGranularity);
  std::unique_ptr<Block> block;
  {
    const std::lock_guard lock(shared_->mutex);
    if (rounded > shared_->limit || shared_->lent > shared_->limit - rounded) {
      return ResourceExhausted(std::to_string(shared_->lent) +
                               " bytes of batches are on their way already");
    }
    // Finds the smallest that fits and does not waste more than it uses.
    auto best = shared_->free.end();
    for (auto it = shared_->free.begin(); it != shared_->free.end(); ++it) {
      const std::uint64_t size = (*it)->memory().size();
      if (size < rounded || size > 2 * rounded) continue;
      if (best == shared_->free.end() || size < (*best)->memory().size()) best = it;
    }
    if (best != shared_->free.end()) {
      block = std::move(*best);
      shared_->free.erase(best);
      shared_->kept -= block->memory().size();
      shared_->lent += block->memory().size();
    } else {
      shared_->lent += rounded;
    }
  }
  if (!block) {
    block = Block::Make(rounded);
    if (!block) {
      const std::lock_guard lock(shared_->mutex);
      shared_->lent -= rounded;
      return ResourceExhausted("no memory for a batch of " + std::to_string(bytes) + " bytes");
    }
  }
  const MutableByteSpan memory = block->memory().first(bytes);
  std::shared_ptr<const void> hold(block.release(), [shared = shared_](Block* returned) {
    shared->GiveBack(std::unique_ptr<Block>(returned));
  });
  return Buffer{memory, std::move(hold)};
}

void PayloadPool::Trim() {
  std::vector<std::unique_ptr<Block>> dropped;
  const std::lock_guard lock(shared_->mutex);
  dropped.swap(shared_->free);
  shared_->kept = 0;
}

std::uint64_t PayloadPool::lent_bytes() const {
  const std::lock_guard lock(shared_->mutex);
  return shared_->lent;
}

}  // namespace headrace::dataworker
