#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "dataworker/stage/images/tools.h"
#include "ops/run/runner.h"

namespace headrace::images {

using Workshop = Tools<ops::OpContext>;

// A finished sample.
struct Made {
  TensorSpec spec;
  std::unique_ptr<std::byte[]> memory;  // its own, unless there was room for it elsewhere
  std::vector<std::int32_t> params;     // what its operators drew
};

// Gives a sample's memory, of spec.bytes(), which outlives the call that asks; null: there is none.
// Called in the thread of that call. Empty: each sample has memory of its own.
using Room = std::function<std::byte*(const TensorSpec& spec)>;

// A compiled chain with its draws. It does what a sequence of torchvision's transforms does to one
// image and to torch's generator. Thread-safe.
class NativeChain {
 public:
  // Compiles. `torch_exp`: the constant of that name, read only inside the call; empty if nothing
  // needs it. kUnsupported, kInvalidArgument: as Chain::Compile.
  static Result<NativeChain> Make(std::vector<Node> nodes, const ClientLibraries& libraries,
                                  ByteSpan torch_exp, std::shared_ptr<Workshop> workshop);

  [[nodiscard]] bool is_random() const { return chain_->is_random(); }
  // The type of the elements that come out.
  [[nodiscard]] DType dtype() const { return dtype_; }

  // Makes a sample. `state`: the bytes of torch.get_rng_state(), which the draws move on. It is not
  // read if nothing is random, and unchanged after an error. Errors of ChainRunner::ReadHeader,
  // Chain::Draw and ChainRunner::Run; kUnavailable: there is no room.
  Result<Made> RunFile(ByteSpan file, MutableByteSpan state, const Room& room = {}) const;
  // Does the same from the row of an array, u8 of `spec`. REQUIRES: pixels.size() == spec.bytes().
  Result<Made> RunPixels(ByteSpan pixels, const TensorSpec& spec, MutableByteSpan state,
                         const Room& room = {}) const;

 private:
  template <typename Run>
  Result<Made> Make(const TensorSpec& source, MutableByteSpan state, const Room& room,
                    const Run& run) const;

  DType dtype_ = DType::kU8;
  std::shared_ptr<const ops::Chain> chain_;
  std::shared_ptr<const ops::ChainRunner> runner_;
  std::shared_ptr<Workshop> workshop_;
};

}  // namespace headrace::images
