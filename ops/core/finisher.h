#pragma once

#include <cstddef>

#include "base/buffer.h"
#include "base/graph.h"
#include "base/result.h"
#include "ops/core/chain.h"

namespace headrace::ops {

// Finishes samples whose chain a worker ran only up to its tail (Chain::tail). A worker gives uint8
// values in CHW; this makes the chain's elements of them, with the same bits as ChainRunner::Run.
// It needs no image library. Immutable; thread-safe.
class Finisher {
 public:
  // kUnsupported: the tail of this build's chain does not start at node `tail`.
  static Result<Finisher> Make(const Chain& chain, int tail);

  // The node that it starts with.
  [[nodiscard]] int tail() const { return tail_; }
  // Of the finished elements.
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] int channels() const { return channels_; }
  // Finishes any part of a channel. REQUIRES: 0 <= channel < channels(); elements.size() ==
  // values.size() * DTypeBytes(dtype()), aligned for an element.
  void Finish(int channel, ByteSpan values, MutableByteSpan elements) const;

 private:
  int tail_ = 0;
  DType dtype_ = DType::kU8;
  int channels_ = 0;
  Bytes table_;  // ValueTable
};

}  // namespace headrace::ops
