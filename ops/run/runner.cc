#include "ops/run/runner.h"

#include <cstring>
#include <utility>

#include "base/check.h"
#include "ops/core/op_registry.h"
#include "ops/core/value_table.h"
#include "ops/run/payload.h"
#include "ops/run/render.h"
#include "ops/run/render_floats.h"
#include "ops/run/run_plan.h"
#include "ops/vision/floats.h"
#include "ops/vision/fold/fold.h"
#include "ops/vision/image_header.h"

namespace headrace::ops {
namespace {

constexpr int kScratchSlot = 7;

// State that a thread keeps from sample to sample.
struct Working {
  RunPlan plan;
  std::vector<ImageSpec> shapes;
};

bool LivesIn(const Image& image, ScratchBuffer& buffer) {
  return buffer.data() != nullptr && image.data >= buffer.data() &&
         image.data < buffer.data() + buffer.capacity();
}

ImageSpec InMemory(ImageSpec spec) {
  spec.layout = Layout::kHwc;
  return spec;
}

Result<ImageSpec> SpecOf(ByteSpan file) {
  HR_TRY(const ImageHeader header, ReadImageHeader(file));
  if (header.need_bytes > 0) return DataLoss("image file is truncated in its header");
  return ImageSpec{header.height, header.width, 3, DType::kU8, Layout::kHwc};
}

}  // namespace

// The source of a sample's pixels: an encoded file, or memory.
struct ChainRunner::Source {
  ByteSpan file;
  Image image;  // only its spec for a file
  bool encoded = false;
};

Result<ChainRunner> ChainRunner::Make(std::shared_ptr<const Chain> chain) {
  ChainRunner runner;
  CompileContext context{&chain->libraries(), nullptr, chain->source()};
  const std::vector<Node>& nodes = chain->nodes();
  bool floats = false;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    const OpSchema& any_schema = chain->schema(static_cast<int>(i));
    if (dynamic_cast<const GateSchema*>(&any_schema) != nullptr) {  // it has no pixels
      runner.schemas_.push_back(nullptr);
      runner.kernels_.push_back(nullptr);
      continue;
    }
    const auto* schema = dynamic_cast<const ImageSchema*>(&any_schema);
    const KernelFactory* make = KernelRegistry::Builtin().Find(nodes[i].op);
    if (make == nullptr) return Unsupported("this worker has no kernel for " + nodes[i].op);
    HR_TRY(const KernelPtr made, (*make)(any_schema, context));
    auto kernel = std::dynamic_pointer_cast<const ImageKernel>(made);
    if (schema == nullptr || kernel == nullptr) {
      return Unsupported(nodes[i].op + " does not work on images");
    }
    if (context.input.dtype != DType::kU8 && !kernel->folds()) {
      const auto* computes = dynamic_cast<const FloatKernel*>(kernel.get());
      if (context.input.dtype != DType::kF32 || computes == nullptr) {
        return Internal(nodes[i].op + " computes on tensors of another type");
      }
      // With gates, each of them may be the first that runs.
      if (!floats || !chain->parts().empty()) {
        const auto node = static_cast<int>(i);
        runner.float_tables_[node] = ValueTable(*chain, 0, node, context.input);
      }
      floats = true;
    }
    HR_TRY(const ImageSpec input, schema->ReadInput(context.input));
    context.input = schema->OutputKind(input).tensor();
    runner.schemas_.push_back(schema);
    runner.kernels_.push_back(std::move(kernel));
  }
  HR_TRY(const ImageSpec output, ImageSpec::From(context.input));
  if (floats && output.layout == Layout::kHwc) {
    return Unsupported("channels_last after an operator that computes on float32");
  }
  if (output.dtype != DType::kU8 && (!floats || !chain->parts().empty())) {
    runner.table_ = ValueTable(*chain, 0);
  }
  runner.tail_ = static_cast<int>(nodes.size());
  runner.chain_ = std::move(chain);
  return runner;
}

ChainRunner ChainRunner::BeforeTail() const {
  HR_CHECK(chain_->tail() > 0);
  ChainRunner runner = *this;
  runner.tail_ = chain_->tail();
  runner.table_.clear();
  return runner;
}

ImageSpec ChainRunner::SampleOf(ImageSpec end) const {
  if (tail_ == static_cast<int>(kernels_.size())) return end;
  end.dtype = DType::kU8;
  return end;
}

Result<TensorSpec> ChainRunner::ReadHeader(ByteSpan head,
                                           const std::function<ByteSpan(std::size_t)>& more) {
  while (true) {
    HR_TRY(const ImageHeader header, ReadImageHeader(head));
    if (header.need_bytes == 0) {
      return TensorSpec{DType::kU8, Layout::kHwc, {header.height, header.width, 3}};
    }
    const ByteSpan longer = more(header.need_bytes);
    if (longer.size() <= head.size()) return DataLoss("image file is truncated in its header");
    head = longer;
  }
}

Result<TensorSpec> ChainRunner::OutputSpec(const TensorSpec& in) const {
  std::vector<TensorSpec> shapes(kernels_.size());
  HR_RETURN_IF_ERROR(chain_->Shapes(in, shapes));
  return shapes.back();
}

Status ChainRunner::Shapes(const ImageSpec& in, Params params,
                           std::span<ImageSpec> after_node) const {
  HR_RETURN_IF_ERROR(CheckPixels(in));
  const ImageSpec* before = &in;
  for (std::size_t i = 0; i < after_node.size(); ++i) {
    if (schemas_[i] == nullptr) {
      after_node[i] = *before;
    } else {
      const auto node = static_cast<int>(i);
      const Status status =
          schemas_[i]->CheckedShape(*before, ParamsOf(*chain_, node, params), &after_node[i]);
      if (!status.ok()) return status.WithContext(chain_->NodeName(node));
    }
    before = &after_node[i];
  }
  if (after_node.size() < schemas_.size()) return Status::Ok();  // gates are in no prefix
  return chain_->CheckParts([&](const Chain::Part& part) {
    return after_node[static_cast<std::size_t>(part.last) - 1] ==
           after_node[static_cast<std::size_t>(part.gate)];
  });
}

// Decodes `window` of the image whose spec *image has.
Status ChainRunner::Decode(ByteSpan file, const Window& window, bool packed, OpContext& context,
                           ScratchBuffer& memory, Image* image) const {
  const ImageSpec spec = image->spec;
  std::optional<Window> part;
  if (window != WholeOf(spec)) part = window;
  HR_RETURN_IF_ERROR(kernels_[0]->Decode(file, part, packed, context, memory, image));
  image->spec = schemas_[0]->OutputKind(spec);  // a decoder may make one channel
  image->held = window;
  return Status::Ok();
}

// Renders what is folded and computes the rest. Makes only the part of each image that the sample
// shows.
Status ChainRunner::Compute(Image image, const RunPlan& plan, Params params, OpContext& context,
                            MutableByteSpan out) const {
  int held = 1;   // the output buffer that `image` may live in
  int after = 0;  // the node after the one that made `image`
  ScratchBuffer& scratch = context.scratch(kScratchSlot);
  for (const RunPlan::Step& step : plan.steps()) {
    Image read;
    ScratchBuffer& memory = context.output(1 - held);
    if (step.in.dtype == DType::kU8) {
      RenderImage(image, step.before, memory, &read);
    } else if (image.spec.dtype == DType::kU8) {
      RenderToFloats(image, step.before, float_tables_.at(step.node), scratch, memory, &read);
    } else {
      RenderFloats(image, step.before, {chain_.get(), after, step.node}, memory, &read);
    }
    after = step.node + 1;
    if (LivesIn(read, context.output(1 - held))) held = 1 - held;
    // Tensors of uint8 are computed as the images that they come from.
    read.spec = InMemory(step.in);
    read.held = step.reads;
    Image made;
    made.spec = InMemory(step.out);
    made.held = step.makes;
    HR_RETURN_IF_ERROR(kernels_[static_cast<std::size_t>(step.node)]->Run(
        read, ParamsOf(*chain_, step.node, params), context, context.output(1 - held), &made));
    if (made.spec != InMemory(step.out)) return Internal("operator made an image of another size");
    if (Intersect(made.held, step.makes) != step.makes) {
      return Internal("operator made less than was wanted");
    }
    if (LivesIn(made, context.output(1 - held))) held = 1 - held;
    image = made;
  }
  if (image.spec.dtype != DType::kU8) {
    RenderFloatOutput(image, plan.end(), {chain_.get(), after, static_cast<int>(kernels_.size())},
                      scratch, out);
  } else {
    RenderOutput(image, plan.end(), table_, scratch, out);
  }
  return Status::Ok();
}

// Runs nodes [first, last) on a source, without those that map elements from `tail` on.
Status ChainRunner::Execute(const Source& source, int first, int last, int tail, Params params,
                            OpContext& context, MutableByteSpan out) const {
  RunPlan& plan = context.Tool<Working>().plan;
  Image image = source.image;
  HR_RETURN_IF_ERROR(
      plan.Make(*chain_, schemas_, kernels_, first, last, tail, image.spec, params, context));
  if (plan.end().spec().bytes() != out.size())
    return Internal("chain made a sample of another size");
  if (source.encoded) {
    HR_RETURN_IF_ERROR(Decode(source.file, plan.source(), plan.wants_packed(), context,
                              context.output(1), &image));
  }
  return Compute(image, plan, params, context, out);
}

Status ChainRunner::Check(const ImageSpec& in, int first, const ImageSpec& given, Params params,
                          OpContext& context, MutableByteSpan out) const {
  if (params.size() != static_cast<std::size_t>(chain_->param_words())) {
    return InvalidArgument("a sample has " + std::to_string(chain_->param_words()) +
                           " parameter words, not " + std::to_string(params.size()));
  }
  auto& shapes = context.Tool<Working>().shapes;
  shapes.resize(kernels_.size());
  HR_RETURN_IF_ERROR(Shapes(in, params, shapes));
  if (first > 0 && shapes[static_cast<std::size_t>(first - 1)] != given) {
    return DataLoss("cached sample is of another pipeline");
  }
  const ImageSpec last = SampleOf(shapes.back());
  if (out.size() != last.bytes() ||
      reinterpret_cast<std::uintptr_t>(out.data()) % DTypeBytes(last.dtype) != 0) {
    return InvalidArgument("image of " + std::to_string(in.height) + " x " +
                           std::to_string(in.width) + " makes a sample of " +
                           std::to_string(last.bytes()) + " bytes, not " +
                           std::to_string(out.size()));
  }
  return Status::Ok();
}

Status ChainRunner::Prepare(const ImageSpec& in, Params params, OpContext& context,
                            MutableByteSpan out, RunPlan* plan) const {
  HR_RETURN_IF_ERROR(Check(in, 0, in, params, context, out));
  HR_RETURN_IF_ERROR(plan->Make(*chain_, schemas_, kernels_, 0, static_cast<int>(kernels_.size()),
                                tail_, in, params, context));
  if (plan->end().spec().bytes() == out.size()) return Status::Ok();
  return Internal("chain made a sample of another size");
}

Status ChainRunner::Finish(const Source& source, const ImageSpec& in, int first, Params params,
                           OpContext& context, MutableByteSpan out) const {
  HR_RETURN_IF_ERROR(Check(in, first, source.image.spec, params, context, out));
  return Execute(source, first, static_cast<int>(kernels_.size()), tail_, params, context, out);
}

Status ChainRunner::Run(ByteSpan encoded, Params params, OpContext& context,
                        MutableByteSpan out) const {
  Source source{encoded, {}, true};
  HR_TRY(source.image.spec, SpecOf(encoded));
  return Finish(source, source.image.spec, 0, params, context, out);
}

Status ChainRunner::RunPrefix(ByteSpan encoded, OpContext& context, Bytes* payload) const {
  Source source{encoded, {}, true};
  HR_TRY(source.image.spec, SpecOf(encoded));
  auto& shapes = context.Tool<Working>().shapes;
  const int nodes = chain_->pure_prefix();
  shapes.resize(static_cast<std::size_t>(nodes));
  HR_RETURN_IF_ERROR(Shapes(source.image.spec, {}, shapes));
  const ImageSpec image = shapes.back();
  MutableByteSpan pixels;
  AllocatePayload(source.image.spec.tensor(), image, payload, &pixels);
  return Execute(source, 0, nodes, nodes, {}, context, pixels);
}

Result<TensorSpec> ChainRunner::PayloadSource(ByteSpan payload) {
  HR_TRY(const Payload read, ReadPayload(payload));
  return read.source;
}

Status ChainRunner::RunFromPrefix(ByteSpan payload, Params params, OpContext& context,
                                  MutableByteSpan out) const {
  HR_TRY(const Payload read, ReadPayload(payload));
  const Source source{{}, read.image, false};
  const Result<ImageSpec> in = schemas_.front()->ReadInput(read.source);
  if (!in.ok()) return DataLoss("cached sample is of another source");
  return Finish(source, *in, chain_->pure_prefix(), params, context, out);
}

Status ChainRunner::RunPixels(ByteSpan pixels, const TensorSpec& row, Params params,
                              OpContext& context, MutableByteSpan out) const {
  HR_TRY(const ImageSpec spec, schemas_.front()->ReadInput(row));
  if (pixels.size() != spec.bytes() || spec.dtype != DType::kU8) {
    return InvalidArgument("array row is not an image of its shape");
  }
  // A copy, because kernels may read a little past the last pixel.
  std::uint8_t* copy = context.output(1).Ensure(pixels.size());
  std::memcpy(copy, pixels.data(), pixels.size());
  const auto channels = static_cast<std::size_t>(spec.channels);
  const Source source{{},
                      {copy, static_cast<std::size_t>(spec.width) * channels, channels, spec,
                       Window{0, 0, spec.height, spec.width}},
                      false};
  return Finish(source, spec, 0, params, context, out);
}

}  // namespace headrace::ops
