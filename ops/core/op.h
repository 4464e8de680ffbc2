#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/buffer.h"
#include "base/graph.h"
#include "base/result.h"
#include "ops/torch/torch_exp.h"
#include "ops/torch/torch_generator.h"

// An operator has two halves.
//
//   OpSchema  its arguments, its shapes and its random draws. No pixels, no heavy library: the
//             coordinator, the client's planner and the worker link it.
//   Kernel    its pixels. Only the worker links it.
//
// Both are immutable after construction and thread-safe.
namespace headrace::ops {

class FoldedPass;  // ops/vision/fold/fold.h

enum class Layout : std::uint8_t { kHwc = 0, kChw = 1, kRow = 2 /* not an image */ };

// What the draws of a transform may depend on, and what flows along the chain while planning.
struct ImageSpec {
  std::int64_t height = 0;  // pixels
  std::int64_t width = 0;   // pixels
  std::int32_t channels = 3;
  DType dtype = DType::kU8;
  Layout layout = Layout::kHwc;

  [[nodiscard]] std::size_t bytes() const {
    return static_cast<std::size_t>(height * width * channels) * DTypeBytes(dtype);
  }
  friend bool operator==(const ImageSpec&, const ImageSpec&) = default;
};

// Part of an image, in pixels; may lie partly outside of it (PIL's crop fills with zero there).
struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

// All of an image.
[[nodiscard]] inline Window WholeOf(const ImageSpec& spec) {
  return {0, 0, spec.height, spec.width};
}

// One number for each channel, an element (element.h); those behind the last channel are not looked
// at.
using ChannelValues = std::array<double, 4>;

// What one sample drew at one operator: param_words() int32 words, floats bit-cast.
using Params = std::span<const std::int32_t>;
using MutableParams = std::span<std::int32_t>;

// The light half. One object per node of a compiled chain.
class OpSchema {
 public:
  virtual ~OpSchema() = default;
  [[nodiscard]] virtual Purity purity() const = 0;
  // Channels, element type and layout of what comes out; height and width are not looked at.
  [[nodiscard]] virtual ImageSpec OutputKind(const ImageSpec& in) const { return in; }
  // What comes out for an input of spec `in`: does not depend on the draws. kInvalidArgument where
  // the framework itself raises (for example a crop larger than the image), with its message.
  virtual Status Shape(const ImageSpec& in, ImageSpec* out) const {
    *out = OutputKind(in);
    return Status::Ok();
  }
  // Words of Params that Draw fills; constant for the object.
  [[nodiscard]] virtual int param_words() const { return 0; }
  // Draws exactly what the framework's own transform draws from torch's generator for an input of
  // spec `in`, in its order; fills `params` and says what comes out. Errors as Shape.
  // REQUIRES: params.size() == param_words().
  virtual Status Draw(const ImageSpec& in, TorchGenerator& /*rng*/, MutableParams /*params*/,
                      ImageSpec* out) const {
    return Shape(in, out);
  }
  // The uniform draws that this operator puts through torch.exp.
  [[nodiscard]] virtual std::vector<ExpRange> exp_ranges() const { return {}; }
};

// Pixels in memory of the caller. Row stride in bytes; pixel_stride in bytes (1, 3 or 4 for u8 HWC:
// 4 is RGBX with an undefined fourth byte). ScratchBuffer::kSlack bytes behind the last pixel may
// be read. Kernels see u8 HWC images only, also of u8 tensors; what follows the conversion to
// another type is folded (fold.h).
struct Image {
  const std::uint8_t* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t pixel_stride = 0;
  ImageSpec spec;
  // What is in memory: data is the pixel (held.top, held.left). All of the image, except where an
  // operator announced an InputWindow.
  Window held;

  // The pixel (y, x) of the image. REQUIRES: inside of held.
  [[nodiscard]] const std::uint8_t* At(std::int64_t y, std::int64_t x) const {
    return data + (y - held.top) * static_cast<std::int64_t>(row_stride) +
           (x - held.left) * static_cast<std::int64_t>(pixel_stride);
  }

  // A part of what is held, as an image of its own. REQUIRES: inside of held.
  [[nodiscard]] Image Part(const Window& window) const {
    Image part = *this;
    part.data = At(window.top, window.left);
    part.spec.height = window.height;
    part.spec.width = window.width;
    part.held = WholeOf(part.spec);
    return part;
  }
};

// Scratch of one executor thread. Not thread-safe; reused from sample to sample.
class OpContext {
 public:
  // A buffer that keeps its memory from call to call; `slot` < 8 is private to the calling
  // operator's Run; two alternating `output` buffers belong to the chain runner.
  [[nodiscard]] ScratchBuffer& scratch(int slot) { return scratch_[slot]; }
  [[nodiscard]] ScratchBuffer& output(int which) { return output_[which]; }
  // The thread's own object of a type (a decoder, a resampler), made on first use.
  template <typename T>
  [[nodiscard]] T& Tool() {
    static const char key = 0;  // its address stands for T
    for (const auto& [tag, tool] : tools_) {
      if (tag == &key) return *static_cast<T*>(tool.get());
    }
    tools_.emplace_back(&key, std::make_shared<T>());
    return *static_cast<T*>(tools_.back().second.get());
  }

 private:
  ScratchBuffer scratch_[8];
  ScratchBuffer output_[2];
  std::vector<std::pair<const void*, std::shared_ptr<void>>> tools_;
};

// A part of an operator's output, to be made from an input of spec `in`.
struct Request {
  ImageSpec in;
  ImageSpec out;  // what Shape says
  Params params;
  Window wanted;  // inside of `out`
};

// The heavy half. An operator computes (Run), describes itself (Fold), or decodes files (Decode).
class Kernel {
 public:
  virtual ~Kernel() = default;
  // What Run reads of its input to make the part of its output that is wanted. The runner asks from
  // the end of a chain to its start: what a crop leaves is all that is computed, and decoded, in
  // front of it. Absent: Run reads all and makes all. Errors as Run.
  [[nodiscard]] virtual Result<std::optional<Window>> InputWindow(const Request& /*request*/,
                                                                  OpContext& /*context*/) const {
    return std::optional<Window>();
  }
  // Computes `out` from `in`, which holds exactly its InputWindow. On entry out->spec is what Shape
  // said and out->held the part that is wanted; the kernel puts that part's pixels into `memory`
  // (sets out->data and the strides) or returns a view of `in`. Params come from a peer:
  // kInvalidArgument when they do not fit the image. Same bits on every CPU, and for every window.
  virtual Status Run(const Image& /*in*/, Params /*params*/, OpContext& /*context*/,
                     ScratchBuffer& /*memory*/, Image* /*out*/) const {
    return Internal("operator computes nothing");
  }
  // For the first node of a chain over files: decodes `window` of a file (all of it when absent) as
  // u8 HWC; out->spec is the window's. `packed` asks for a pixel stride of 3. kDataLoss and
  // kUnsupported leave the file to PIL.
  virtual Status Decode(ByteSpan /*file*/, const std::optional<Window>& /*window*/, bool /*packed*/,
                        OpContext& /*context*/, ScratchBuffer& /*memory*/, Image* /*out*/) const {
    return Internal("operator does not read files");
  }
  // True for an operator that only moves pixels, fills rectangles or maps values one by one: it is
  // then never run, but folded together with its neighbours into one pass over the pixels.
  [[nodiscard]] virtual bool folds() const { return false; }
  // Adds this operator to `fold`, whose image so far is its input. REQUIRES: folds().
  virtual Status Fold(Params /*params*/, FoldedPass& /*fold*/) const { return Status::Ok(); }
  // One element (element.h) of channel `channel` through this operator, when it maps values: what
  // comes out is an element of its output's type, rounded operation by operation as torch does it.
  [[nodiscard]] virtual double Map(int /*channel*/, double value) const { return value; }
};

}  // namespace headrace::ops
