#include "ops/core/finisher.h"

#include <string>

#include "ops/core/byte_lookup.h"
#include "ops/core/value_table.h"

namespace headrace::ops {

Result<Finisher> Finisher::Make(const Chain& chain, int tail) {
  if (tail == 0 || tail != chain.tail()) {
    return Unsupported("the chain's tail starts at node " + std::to_string(chain.tail()) +
                       ", not at " + std::to_string(tail));
  }
  Finisher finisher;
  finisher.tail_ = tail;
  finisher.dtype_ = chain.output().dtype;
  finisher.channels_ = ChannelsOf(chain.output());
  finisher.table_ = ValueTable(chain, tail);
  return finisher;
}

void Finisher::Finish(int channel, ByteSpan values, MutableByteSpan elements) const {
  const std::size_t element = DTypeBytes(dtype_);
  const std::size_t bytes = kByteValues * element;
  LookUpBytes(values, ByteSpan(table_).subspan(static_cast<std::size_t>(channel) * bytes, bytes),
              element, elements);
}

}  // namespace headrace::ops
