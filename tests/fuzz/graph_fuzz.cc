#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/hash.h"
#include "ops/core/generators.h"
#include "ops/core/test_util.h"
#include "ops/run/graph_runner.h"
#include "ops/vision/jpeg/jpeg_test_util.h"
#include "tests/fuzz/node_text.h"

// A plan's operators, as a peer names them, on pictures. What compiles runs within its memory: with what
// is drawn for a picture, whose values are the same from the picture and from its prefix, and with words
// that nobody has drawn. Input: node_text.h. Seeds: tests/fuzz/graph_seeds.py.
namespace headrace::ops {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 22;  // of a sample; more is only slower

class Sample {
 public:
  explicit Sample(const GraphRunner& runner) : runner_(runner) {}

  void Try(ByteSpan file, std::uint64_t seed) {
    const Result<TensorSpec> in = runner_.ReadSource(file);
    if (!in.ok()) return;
    const Graph& graph = runner_.graph();
    values_.resize(graph.values().size());
    std::vector<TensorSpec> prefixes;
    if (!graph.Shapes(*in, values_, &prefixes).ok()) return;
    params_.resize(static_cast<std::size_t>(graph.param_words()));
    TorchGenerator rng(seed);
    if (graph.Draw(*in, rng, params_, values_).ok() && MakeRoom()) Compare(file);
    std::mt19937_64 random(seed);
    for (int change = 0; change < 4 && !params_.empty(); ++change) {
      params_[random() % params_.size()] = static_cast<std::int32_t>(random() >> (random() % 33));
      if (MakeRoom()) (void)runner_.Run(file, params_, context_, outs_);
    }
  }

 private:
  // Memory for the values, with nothing after it.
  bool MakeRoom() {
    made_.clear();
    outs_.clear();
    std::size_t all = 0;
    for (const TensorSpec& value : values_) {
      if (!value.known()) return false;
      all += value.bytes();
      if (all > kMostBytes) return false;
      made_.emplace_back(value.bytes());
    }
    for (Bytes& value : made_) outs_.emplace_back(value);
    return true;
  }
  void Compare(ByteSpan file) {
    if (!runner_.Run(file, params_, context_, outs_).ok()) return;
    const std::vector<Bytes> made = made_;
    Bytes payload;
    if (!runner_.RunPrefix(file, context_, &payload).ok()) return;
    if (!MakeRoom() || !runner_.RunFromPrefix(payload, params_, context_, outs_).ok()) std::abort();
    if (made != made_) std::abort();
  }

  const GraphRunner& runner_;
  OpContext context_;
  std::vector<std::int32_t> params_;
  std::vector<TensorSpec> values_;
  std::vector<Bytes> made_;
  std::vector<MutableByteSpan> outs_;
};

const std::vector<Bytes>& Pictures() {
  static const std::vector<Bytes> pictures = [] {
    std::vector<Bytes> made;
    for (const auto& [width, height] : {std::pair(40, 28), {1, 1}, {17, 160}}) {
      made.push_back(CopyBytes(AsBytes(EncodeJpeg(width, height, {}))));
    }
    made.push_back(CopyBytes(AsBytes(EncodeJpeg(33, 20, {.space = JCS_GRAYSCALE}))));
    return made;
  }();
  return pictures;
}

void TryNodes(std::string_view text) {
  static const testing::EvenTorch torch;
  const std::vector<Node> nodes = fuzz::NodesIn(text);
  if (nodes.empty()) return;
  Result<Graph> graph = Graph::Compile(nodes, {}, testing::Libraries(), {}, &torch);
  if (!graph.ok()) return;
  const Result<GraphRunner> runner =
      GraphRunner::Make(std::make_shared<const Graph>(std::move(graph).value()));
  if (!runner.ok()) return;
  const std::uint64_t hash = HashBytes(AsBytes(text));
  Sample(*runner).Try(Pictures()[hash % Pictures().size()], hash);
}

}  // namespace
}  // namespace headrace::ops

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  headrace::ops::TryNodes({reinterpret_cast<const char*>(data), size});
  return 0;
}
