#pragma once

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "gtest/gtest.h"
#include "ops/core/test_util.h"
#include "ops/run/runner.h"
#include "ops/vision/image.h"

// Runs small chains on pixels that a test lists.
namespace headrace::ops::testing {

// A finished sample with its values as floats, in memory order.
struct Ran {
  Status status;
  TensorSpec spec;
  std::vector<float> values;
};

using Pixels = std::vector<std::uint8_t>;

// An image as the row of an array, which from_array reads.
inline TensorSpec RowOf(TensorSpec image) {
  image.layout = Layout::kPlain;
  return image;
}

inline Ran RunPixels(std::vector<Node> nodes, const TensorSpec& image, const Pixels& pixels,
                     const std::vector<std::int32_t>& params = {},
                     const std::string& pillow = "13.0.0") {
  const std::string mode = image.dims[2] == 1 ? "L" : "RGB";
  nodes.insert(nodes.begin(), MakeNode("from_array", {{"mode", mode}}));
  Result<Chain> chain = Chain::Compile(std::move(nodes), Libraries(pillow), {});
  if (!chain.ok()) return {chain.status(), {}, {}};
  const Result<ChainRunner> runner =
      ChainRunner::Make(std::make_shared<const Chain>(std::move(chain).value()));
  HR_CHECK(runner.ok());
  const Result<TensorSpec> shape = runner->OutputSpec(RowOf(image));
  if (!shape.ok()) return {shape.status(), {}, {}};
  Ran ran{{}, *shape, {}};
  std::vector<float> memory(ran.spec.bytes() / sizeof(float) + 1);
  const MutableByteSpan out = std::as_writable_bytes(std::span(memory)).first(ran.spec.bytes());
  OpContext context;
  ran.status =
      runner->RunPixels(std::as_bytes(std::span(pixels)), RowOf(image), params, context, out);
  if (ran.spec.dtype == DType::kF32) {
    memory.resize(ran.spec.bytes() / sizeof(float));
    ran.values = std::move(memory);
  } else {
    for (const std::byte b : out) ran.values.push_back(static_cast<float>(b));
  }
  return ran;
}

inline TensorSpec GraySpec(std::int64_t height, std::int64_t width) {
  return {DType::kU8, Layout::kHwc, {height, width, 1}};
}

// Draws for nodes that follow from_array, for an image of that spec.
inline Result<std::vector<std::int32_t>> DrawNodes(std::vector<Node> nodes, const TensorSpec& image,
                                                   GeneratorRefs rng,
                                                   const TorchFunctions* torch = nullptr) {
  const std::string mode = image.dims[2] == 1 ? "L" : "RGB";
  nodes.insert(nodes.begin(), MakeNode("from_array", {{"mode", mode}}));
  const Bytes table = PlainExpTable(nodes);
  HR_TRY(const Chain chain,
         Chain::Compile(std::move(nodes), Libraries(), {{"torch_exp", table}}, torch));
  std::vector<std::int32_t> params(static_cast<std::size_t>(chain.param_words()));
  TensorSpec out;
  HR_RETURN_IF_ERROR(chain.Draw(RowOf(image), rng, params, &out));
  return params;
}
inline Result<std::vector<std::int32_t>> DrawNode(Node node, const TensorSpec& image,
                                                  GeneratorRefs rng,
                                                  const TorchFunctions* torch = nullptr) {
  return DrawNodes({std::move(node)}, image, rng, torch);
}

// Expects that the operator draws one number, whatever its probability, and acts on it.
inline void ExpectOneDrawDecides(const std::string& op) {
  TorchGenerator rng(1);
  for (const std::int32_t happens : {0, 1}) {
    const auto drawn =
        DrawNode(MakeNode(op, {{"p", static_cast<double>(happens)}}), RgbSpec(2, 2), rng);
    ASSERT_TRUE(drawn.ok()) << drawn.status().ToString();
    EXPECT_EQ(*drawn, std::vector<std::int32_t>{happens});
  }
  EXPECT_EQ(rng.draws(), 2U);
}

// Height and width that a node makes of an image.
inline std::pair<std::int64_t, std::int64_t> ShapeOf(Node node, const TensorSpec& image) {
  const std::string mode = image.dims[2] == 1 ? "L" : "RGB";
  const Result<Chain> chain =
      Chain::Compile({MakeNode("from_array", {{"mode", mode}}), std::move(node)}, Libraries(), {});
  HR_CHECK(chain.ok());
  std::vector<TensorSpec> after(2);
  if (!chain->Shapes(RowOf(image), after).ok()) return {0, 0};
  const Result<ImageSpec> made = ImageSpec::From(after[1]);
  HR_CHECK(made.ok());
  return {made->height, made->width};
}

}  // namespace headrace::ops::testing
