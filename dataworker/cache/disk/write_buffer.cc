#include "dataworker/cache/disk/write_buffer.h"

#include "base/hash.h"

namespace headrace::dataworker {

void WriteBuffer::Push(Write write) {
  bytes_ += write.bytes;
  thread_->Submit([this, write = std::move(write)] {
    const ByteSpan payload(write.buffer.get(), write.bytes);
    const Record record{.key = write.key,
                        .bytes = write.bytes,
                        .hash = HashBytes(payload),
                        .cost_ns = CostWordOf(write.cost),
                        .mark = write.mark};
    const Status status = write.segment->Write(write.offset, record, payload);
    bytes_ -= write.bytes;
    on_written_(write, status);
  });
}

}  // namespace headrace::dataworker
