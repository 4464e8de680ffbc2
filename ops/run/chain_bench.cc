// Samples per second and core of the ImageNet chains, for training and for validation: from JPEG
// files, and from the cached pixels after their pure prefix. Photographs: the *.jpg below
// $HEADRACE_BENCH_PHOTOS.
#include <benchmark/benchmark.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "ops/core/chain.h"
#include "ops/run/runner.h"

namespace headrace::ops {
namespace {

constexpr std::size_t kPhotographs = 200;

Node MakeNode(std::string op, Args args = {}) {
  Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  return node;
}

// The nodes after decode, up to the tensor.
std::vector<Node> Train() {
  return {MakeNode("random_resized_crop", {{"size", std::int64_t{224}}}),
          MakeNode("random_horizontal_flip")};
}
std::vector<Node> Validate() {
  return {MakeNode("resize", {{"size", std::int64_t{256}}}),
          MakeNode("center_crop", {{"size", std::int64_t{224}}})};
}

std::shared_ptr<const Chain> ImageNet(std::vector<Node> nodes) {
  nodes.insert(nodes.begin(), MakeNode("decode"));
  nodes.push_back(MakeNode("to_tensor"));
  nodes.push_back(MakeNode("normalize", {{"mean", std::vector<double>{0.485, 0.456, 0.406}},
                                         {"std", std::vector<double>{0.229, 0.224, 0.225}}}));
  const ClientLibraries libraries{"13.0.0", "2.13.0", "0.28.0", "AVX512"};
  const auto plain = [](std::span<const float> in, std::span<float> out) {
    for (std::size_t i = 0; i < in.size(); ++i) out[i] = ExpFloat(in[i]);
    return Status::Ok();
  };
  const std::vector<ExpRange> ranges = Chain::Compile(nodes, libraries, {})->exp_ranges();
  const Bytes table = *BuildTorchExpTable(ranges, plain);
  return std::make_shared<const Chain>(*Chain::Compile(nodes, libraries, {{"torch_exp", table}}));
}

const std::vector<std::string>& Photographs() {
  static const std::vector<std::string> files = [] {
    std::vector<std::string> read;
    const char* folder = std::getenv("HEADRACE_BENCH_PHOTOS");
    if (folder == nullptr) return read;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder)) {
      if (entry.path().extension() != ".jpg" || read.size() == kPhotographs) continue;
      std::ifstream file(entry.path(), std::ios::binary);
      read.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
    }
    return read;
  }();
  return files;
}

// The params of one epoch; `run` makes sample i of them.
template <typename Run>
void RunSamples(benchmark::State& state, const ChainRunner& runner, Run run) {
  const std::size_t count = Photographs().size();
  if (count == 0) {
    state.SkipWithError("HEADRACE_BENCH_PHOTOS names no folder with *.jpg");
    return;
  }
  const Chain& chain = runner.chain();
  TorchGenerator rng(1);
  std::vector<std::vector<std::int32_t>> params(count);
  TensorSpec out;
  for (std::size_t i = 0; i < count; ++i) {
    const Result<TensorSpec> spec =
        ChainRunner::ReadHeader(AsBytes(Photographs()[i]), [](std::size_t) { return ByteSpan(); });
    params[i].resize(static_cast<std::size_t>(chain.param_words()));
    if (!spec.ok() || !chain.Draw(*spec, rng, params[i], &out).ok()) {
      state.SkipWithError("a photograph cannot be read");
      return;
    }
  }
  std::vector<float> sample(out.bytes() / sizeof(float));
  OpContext context;
  std::size_t i = 0;
  for (auto _ : state) {
    const Status status = run(i, params[i], context, std::as_writable_bytes(std::span(sample)));
    if (!status.ok()) state.SkipWithError(status.ToString().c_str());
    if (++i == count) i = 0;
  }
  state.SetItemsProcessed(state.iterations());
}

void BM_FromJpeg(benchmark::State& state, std::vector<Node> (*nodes)()) {
  const ChainRunner runner = *ChainRunner::Make(ImageNet(nodes()));
  RunSamples(state, runner,
             [&](std::size_t i, Params params, OpContext& context, MutableByteSpan out) {
               return runner.Run(AsBytes(Photographs()[i]), params, context, out);
             });
}
BENCHMARK_CAPTURE(BM_FromJpeg, train, Train)->MinTime(2)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_FromJpeg, validate, Validate)->MinTime(2)->Unit(benchmark::kMicrosecond);

void BM_FromCache(benchmark::State& state, std::vector<Node> (*nodes)()) {
  const ChainRunner runner = *ChainRunner::Make(ImageNet(nodes()));
  OpContext making;
  std::vector<Bytes> payloads(Photographs().size());
  for (std::size_t i = 0; i < payloads.size(); ++i) {
    if (!runner.RunPrefix(AsBytes(Photographs()[i]), making, &payloads[i]).ok()) {
      state.SkipWithError("a photograph cannot be decoded");
    }
  }
  RunSamples(state, runner,
             [&](std::size_t i, Params params, OpContext& context, MutableByteSpan out) {
               return runner.RunFromPrefix(payloads[i], params, context, out);
             });
}
BENCHMARK_CAPTURE(BM_FromCache, train, Train)->MinTime(2)->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(BM_FromCache, validate, Validate)->MinTime(2)->Unit(benchmark::kMicrosecond);

void BM_DrawParams(benchmark::State& state) {
  const std::shared_ptr<const Chain> chain = ImageNet(Train());
  TorchGenerator rng(1);
  std::vector<std::int32_t> params(static_cast<std::size_t>(chain->param_words()));
  TensorSpec out;
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        chain->Draw({DType::kU8, Layout::kHwc, {375, 500, 3}}, rng, params, &out).ok());
  }
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(BM_DrawParams);

}  // namespace
}  // namespace headrace::ops
