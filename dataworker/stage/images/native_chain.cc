#include "dataworker/stage/images/native_chain.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "ops/torch/torch_generator.h"

namespace headrace::images {

Result<NativeChain> NativeChain::Make(std::vector<Node> nodes, const ClientLibraries& libraries,
                                      ByteSpan torch_exp, std::shared_ptr<Workshop> workshop) {
  NativeChain made;
  ops::Constants constants;
  if (!torch_exp.empty()) constants["torch_exp"] = torch_exp;
  HR_TRY(auto chain, ops::Chain::Compile(std::move(nodes), libraries, std::move(constants)));
  if (chain.draws_from_python()) return Unsupported("Python's generator stays in Python here");
  made.chain_ = std::make_shared<const ops::Chain>(std::move(chain));
  HR_TRY(auto runner, ops::ChainRunner::Make(made.chain_));
  made.runner_ = std::make_shared<const ops::ChainRunner>(std::move(runner));
  made.workshop_ = std::move(workshop);
  std::vector<TensorSpec> after(made.chain_->nodes().size());
  HR_RETURN_IF_ERROR(made.chain_->Shapes(made.chain_->source(), after));
  made.dtype_ = after.back().dtype;
  return made;
}

template <typename Run>
Result<Made> NativeChain::Make(const TensorSpec& source, MutableByteSpan state, const Room& room,
                               const Run& run) const {
  std::vector<std::int32_t> params(static_cast<std::size_t>(chain_->param_words()));
  ops::Generators generators;
  if (is_random()) HR_RETURN_IF_ERROR(generators.SetState(state));
  Made made;
  HR_RETURN_IF_ERROR(chain_->Draw(source, generators, params, &made.spec));
  if (!room) made.memory = std::make_unique_for_overwrite<std::byte[]>(made.spec.bytes());
  std::byte* const memory = room ? room(made.spec) : made.memory.get();
  if (memory == nullptr) return Unavailable("no room for a sample");
  HR_RETURN_IF_ERROR(workshop_->With([&](ops::OpContext& context) {
    return run(params, context, MutableByteSpan(memory, made.spec.bytes()));
  }));
  if (is_random()) std::ranges::copy(generators.State(), state.begin());
  made.params = std::move(params);
  return made;
}

Result<Made> NativeChain::RunFile(ByteSpan file, MutableByteSpan state, const Room& room) const {
  const auto no_more = [](std::size_t) { return ByteSpan(); };
  HR_TRY(const TensorSpec source, ops::ChainRunner::ReadHeader(file, no_more));
  const auto run = [&](ops::Params params, ops::OpContext& context, MutableByteSpan out) {
    return runner_->Run(file, params, context, out);
  };
  return Make(source, state, room, run);
}

Result<Made> NativeChain::RunPixels(ByteSpan pixels, const TensorSpec& spec, MutableByteSpan state,
                                    const Room& room) const {
  const auto run = [&](ops::Params params, ops::OpContext& context, MutableByteSpan out) {
    return runner_->RunPixels(pixels, spec, params, context, out);
  };
  return Make(spec, state, room, run);
}

}  // namespace headrace::images
