#include "dataworker/cache/chunk.h"

namespace headrace::dataworker {

Chunk::Chunk(std::shared_ptr<MemoryBudget> budget, std::shared_ptr<QuotaAccount> account,
             JobId owner, std::size_t size, std::uint64_t number, std::shared_ptr<ChunkBody> body)
    : budget_(std::move(budget)),
      account_(std::move(account)),
      owner_(owner.value),
      number_(number),
      body_(std::move(body)),
      user_(owner.value),
      users_(owner.valid() ? std::uint64_t{1} << (owner.value & 63) : 0),
      room_(size) {
  budget_->used += size;
  account_->used += size;
}

Chunk::~Chunk() {
  body_.reset();  // the budget may be used again from here on
  budget_->used -= room_.size();
  account_->used -= room_.size();
}

}  // namespace headrace::dataworker
