#include "dataworker/cache/disk/write_buffer.h"

#include <utility>

#include "base/hash.h"

namespace headrace::dataworker {

void WriteBuffer::Push(Write write) {
  *bytes_ += write.counted;
  thread_->Submit([this, write = std::move(write)] {
    const ByteSpan payload(write.buffer.get(), write.bytes);
    const Record record{.key = write.key,
                        .bytes = write.bytes,
                        .hash = HashBytes(payload),
                        .cost_ns = CostWordOf(write.cost),
                        .mark = write.mark};
    const Status status = write.segment->Write(write.offset, record, payload);
    *bytes_ -= write.counted;
    on_written_(write, status);
  });
}

std::shared_ptr<const std::byte> WriteBuffer::Hold(std::shared_ptr<const SealedMemory> memory) {
  const std::uint64_t size = memory->room();
  if (!HasRoom(size)) return nullptr;
  *bytes_ += size;
  const std::byte* const begin = memory->bytes().data();
  return {begin, [waiting = bytes_, size, last = std::move(memory)](const std::byte*) mutable {
            last.reset();
            *waiting -= size;
          }};
}

std::shared_ptr<Segment> WriteBuffer::Deletes(std::shared_ptr<Segment> segment) const {
  Segment* const plain = segment.get();
  return {plain, [thread = thread_, last = std::move(segment)](Segment*) mutable {
            thread->Submit([ends = std::move(last)]() mutable { ends.reset(); });
          }};
}

}  // namespace headrace::dataworker
