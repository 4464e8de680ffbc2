#pragma once

#include <optional>

#include "ops/core/op.h"
#include "ops/vision/image.h"

namespace headrace::ops {

class FoldedPass;  // ops/vision/fold/fold.h

// A part of an operator's output, to be made from an input of spec `in`.
struct Request {
  ImageSpec in;
  ImageSpec out;  // what Shape says
  Params params;
  Window wanted;  // inside of `out`
};

// The heavy half of an operator on images. It computes (Run), describes itself (Fold), or decodes
// files (Decode).
class ImageKernel : public Kernel {
 public:
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
  // True for an operator that only moves pixels, fills rectangles or maps values (OpSchema::Map). It is
  // never run: it is folded with its neighbours into one pass over the pixels.
  [[nodiscard]] virtual bool folds() const { return false; }
  // Adds this operator to `fold`, whose image so far is the operator's input. REQUIRES: folds().
  virtual Status Fold(Params /*params*/, FoldedPass& /*fold*/) const { return Status::Ok(); }
};

}  // namespace headrace::ops
