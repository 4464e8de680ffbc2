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

// What the draws of a transform may depend on, and what passes along the chain while planning.
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

// Part of an image, in pixels. It may lie partly outside the image (PIL's crop fills with zero
// there).
struct Window {
  std::int64_t top = 0, left = 0, height = 0, width = 0;
  friend bool operator==(const Window&, const Window&) = default;
};

// All of an image.
[[nodiscard]] inline Window WholeOf(const ImageSpec& spec) {
  return {0, 0, spec.height, spec.width};
}

// One number for each channel, an element (element.h). Numbers past the last channel are ignored.
using ChannelValues = std::array<double, 4>;

// The draws of one sample at one operator: param_words() int32 words, floats bit-cast.
using Params = std::span<const std::int32_t>;
using MutableParams = std::span<std::int32_t>;

// The light half. There is one object for each node of a compiled chain.
class OpSchema {
 public:
  virtual ~OpSchema() = default;
  [[nodiscard]] virtual Purity purity() const = 0;
  // Channels, element type and layout of the output; height and width are ignored.
  [[nodiscard]] virtual ImageSpec OutputKind(const ImageSpec& in) const { return in; }
  // Gives the output for an input of spec `in`; it does not depend on the draws. kInvalidArgument,
  // with the framework's message: the framework itself raises (for example on a crop larger than
  // the image).
  virtual Status Shape(const ImageSpec& in, ImageSpec* out) const {
    *out = OutputKind(in);
    return Status::Ok();
  }
  // Number of words of Params that Draw fills; constant for the object.
  [[nodiscard]] virtual int param_words() const { return 0; }
  // Draws exactly what the framework's own transform draws from torch's generator, in its order,
  // for an input of spec `in`. Fills `params` and gives the output. Errors as Shape. REQUIRES:
  // params.size() == param_words().
  virtual Status Draw(const ImageSpec& in, TorchGenerator& /*rng*/, MutableParams /*params*/,
                      ImageSpec* out) const {
    return Shape(in, out);
  }
  // The uniform draws that this operator sends through torch.exp.
  [[nodiscard]] virtual std::vector<ExpRange> exp_ranges() const { return {}; }
};

// Pixels in the caller's memory. The row stride is in bytes, and pixel_stride too (1, 3 or 4 for u8
// HWC: 4 is RGBX with an undefined fourth byte). ScratchBuffer::kSlack bytes past the last pixel
// may be read. Kernels see only u8 HWC images, also for u8 tensors. Operators after the conversion
// to another type are folded (fold.h).
struct Image {
  const std::uint8_t* data = nullptr;
  std::size_t row_stride = 0;
  std::size_t pixel_stride = 0;
  ImageSpec spec;
  // The part of the image in memory: data is the pixel (held.top, held.left). It is the whole image
  // unless an operator announced an InputWindow.
  Window held;

  // The pixel (y, x) of the image. REQUIRES: inside `held`.
  [[nodiscard]] const std::uint8_t* At(std::int64_t y, std::int64_t x) const {
    return data + (y - held.top) * static_cast<std::int64_t>(row_stride) +
           (x - held.left) * static_cast<std::int64_t>(pixel_stride);
  }

  // A part of `held`, as a separate image. REQUIRES: inside `held`.
  [[nodiscard]] Image Part(const Window& window) const {
    Image part = *this;
    part.data = At(window.top, window.left);
    part.spec.height = window.height;
    part.spec.width = window.width;
    part.held = WholeOf(part.spec);
    return part;
  }
};

// Scratch memory of one executor thread. Not thread-safe; reused from sample to sample.
class OpContext {
 public:
  // Buffers keep their memory from call to call. scratch(slot), `slot` < 8, is private to the
  // calling operator's Run. The two alternating `output` buffers belong to the chain runner.
  [[nodiscard]] ScratchBuffer& scratch(int slot) { return scratch_[slot]; }
  [[nodiscard]] ScratchBuffer& output(int which) { return output_[which]; }
  // The thread's own object of a type (a decoder, a resampler), made at first use.
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
  // The window of its input that Run reads to make the wanted part of its output. The runner asks
  // from the end of a chain to its start. So a crop limits what is computed and decoded before it.
  // Absent: Run reads all and makes all. Errors as Run.
  [[nodiscard]] virtual Result<std::optional<Window>> InputWindow(const Request& /*request*/,
                                                                  OpContext& /*context*/) const {
    return std::optional<Window>();
  }
  // Computes `out` from `in`, which holds exactly its InputWindow. At the start, out->spec is
  // Shape's result and out->held is the wanted part. The kernel writes that part's pixels to
  // `memory` (and sets out->data and the strides) or returns a view of `in`. Params come from a
  // peer: kInvalidArgument if they do not fit the image. The bits are the same on every CPU, and
  // for every window.
  virtual Status Run(const Image& /*in*/, Params /*params*/, OpContext& /*context*/,
                     ScratchBuffer& /*memory*/, Image* /*out*/) const {
    return Internal("operator computes nothing");
  }
  // Decodes `window` of a file (all of it when absent) as u8 HWC; out->spec is the window's. For
  // the first node of a chain over files. `packed` asks for a pixel stride of 3. kDataLoss and
  // kUnsupported leave the file to PIL.
  virtual Status Decode(ByteSpan /*file*/, const std::optional<Window>& /*window*/, bool /*packed*/,
                        OpContext& /*context*/, ScratchBuffer& /*memory*/, Image* /*out*/) const {
    return Internal("operator does not read files");
  }
  // True for an operator that only moves pixels, fills rectangles or maps values one by one. It is
  // never run: it is folded with its neighbours into one pass over the pixels.
  [[nodiscard]] virtual bool folds() const { return false; }
  // Adds this operator to `fold`, whose image so far is the operator's input. REQUIRES: folds().
  virtual Status Fold(Params /*params*/, FoldedPass& /*fold*/) const { return Status::Ok(); }
  // Maps one element (element.h) of channel `channel` through an operator that maps values. The
  // result is an element of the output's type, and each step is rounded as in torch.
  [[nodiscard]] virtual double Map(int /*channel*/, double value) const { return value; }
};

}  // namespace headrace::ops
