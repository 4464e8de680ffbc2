#include "ops/core/finisher.h"

#include <random>
#include <string>
#include <utility>
#include <vector>

#include "base/test_draws.h"
#include "gtest/gtest.h"
#include "ops/run/test_util.h"

// A worker that leaves the tail of a chain out and a receiver that finishes it make the same bits as
// the chain itself.
namespace headrace::ops::testing {
namespace {

using test_draws::Between;
using test_draws::OneOf;
using test_draws::Random;
using test_draws::SeedOr;

// Some are infinite in narrower types, so that results are infinite or no numbers.
double Number(Random& random) {
  return OneOf<double>(random, {0.0, -0.0, 0.485, -1e-7, 1e30, -1e30, 1e300, -1e300, 255.0,
                                std::uniform_real_distribution<double>(-3, 3)(random)});
}

// Something before the tail, for PIL images or tensors of uint8.
Node Before(Random& random, bool tensor) {
  switch (Between(random, 0, tensor ? 5 : 4)) {
    case 0:
      return MakeNode(
          "center_crop",
          {{"size", std::vector<std::int64_t>{Between(random, 1, 50), Between(random, 1, 50)}}});
    case 1:
      return MakeNode("pad",
                      {{"padding", Between(random, 0, 9)}, {"fill", Between(random, 0, 255)}});
    case 2:
      return MakeNode("random_horizontal_flip");
    case 3:
      return MakeNode("random_crop", {{"size", Between(random, 1, 40)},
                                      {"padding", Between(random, 0, 9)},
                                      {"pad_if_needed", std::int64_t{1}}});
    case 4:
      return MakeNode("identity");
    default:
      return MakeNode("random_erasing", {{"p", 0.5}, {"value", Between(random, 0, 255)}});
  }
}

std::vector<Node> RandomChain(Random& random, int channels) {
  std::vector<Node> nodes;
  for (std::int64_t i = Between(random, 0, 3); i > 0; --i) nodes.push_back(Before(random, false));
  const auto flip = [&] {
    if (Between(random, 0, 3) == 0) {
      nodes.push_back(
          MakeNode(OneOf<std::string>(random, {"random_horizontal_flip", "random_vertical_flip"})));
    }
  };
  const std::vector<std::string> floats = {"float16", "bfloat16", "float32", "float64"};
  std::string dtype = "float32";
  if (Between(random, 0, 1) == 0) {
    nodes.push_back(MakeNode("to_tensor"));
  } else {
    nodes.push_back(MakeNode(OneOf<std::string>(random, {"to_image", "pil_to_tensor"})));
    for (std::int64_t i = Between(random, 0, 2); i > 0; --i) nodes.push_back(Before(random, true));
    std::vector<std::string> types = floats;
    types.insert(types.end(), {"int16", "int32", "int64"});
    dtype = OneOf(random, types);
    nodes.push_back(MakeNode(
        "to_dtype",
        {{"dtype", dtype}, {"scale", Between(random, 0, 1)}, {"api", Between(random, 1, 2)}}));
  }
  flip();
  if (dtype.starts_with("int")) return nodes;
  for (std::int64_t i = Between(random, 0, 2); i > 0; --i) {
    std::vector<double> mean, std_dev;
    for (int c = 0; c < channels; ++c) {
      mean.push_back(Number(random));
      std_dev.push_back(Number(random));
      if (std_dev.back() == 0) std_dev.back() = -0.25;
    }
    nodes.push_back(MakeNode("normalize", {{"mean", mean}, {"std", std_dev}}));
    if (Between(random, 0, 2) == 0) {
      nodes.push_back(MakeNode("to_dtype", {{"dtype", OneOf(random, floats)}}));
    }
    flip();
  }
  return nodes;
}

// Finishes a sample in pieces of random sizes, as they come in frames.
Bytes InPieces(Random& random, const Finisher& finisher, ByteSpan values) {
  const std::size_t element = DTypeBytes(finisher.dtype());
  Bytes out(values.size() * element);
  const std::size_t plane = values.size() / static_cast<std::size_t>(finisher.channels());
  for (int c = 0; c < finisher.channels(); ++c) {
    const std::size_t first = static_cast<std::size_t>(c) * plane;
    for (std::size_t at = 0; at < plane;) {
      const std::size_t count =
          std::min(plane - at, static_cast<std::size_t>(Between(random, 1, 2000)));
      finisher.Finish(c, values.subspan(first + at, count),
                      MutableByteSpan(out).subspan((first + at) * element, count * element));
      at += count;
    }
  }
  return out;
}

TEST(Finisher, RandomChainsEndInTheSameBits) {
  Random random(SeedOr(20260));
  for (int round = 0; round < 1000; ++round) {
    SCOPED_TRACE("HEADRACE_TEST_SEED=" + std::to_string(SeedOr(20260)) + " round " +
                 std::to_string(round));
    const std::int64_t channels = OneOf<std::int64_t>(random, {1, 3});
    const TensorSpec row{
        DType::kU8, Layout::kPlain, {Between(random, 1, 60), Between(random, 1, 60), channels}};
    std::vector<Node> nodes = RandomChain(random, static_cast<int>(channels));
    nodes.insert(nodes.begin(),
                 MakeNode("from_array", {{"mode", std::string(channels == 1 ? "L" : "RGB")}}));
    const Result<Chain> without = Chain::Compile(nodes, Libraries(), {});
    ASSERT_TRUE(without.ok()) << without.status().ToString();
    const Bytes exp = ::headrace::ops::testing::PlainExpTable(nodes);
    Result<Chain> compiled = Chain::Compile(nodes, Libraries(), {{"torch_exp", exp}});
    const auto chain = std::make_shared<const Chain>(std::move(compiled).value());
    ASSERT_GT(chain->tail(), 0);
    const Result<ChainRunner> whole = ChainRunner::Make(chain);
    ASSERT_TRUE(whole.ok());
    std::vector<std::int32_t> params(static_cast<std::size_t>(chain->param_words()));
    TorchGenerator rng(random());
    TensorSpec out;
    if (!chain->Draw(row, rng, params, &out).ok()) continue;  // torch refuses it, too
    Pixels pixels(row.bytes());
    for (std::uint8_t& value : pixels) value = static_cast<std::uint8_t>(random());

    OpContext context;
    std::vector<double> memory(out.bytes() / sizeof(double) + 1);
    const MutableByteSpan expected = std::as_writable_bytes(std::span(memory)).first(out.bytes());
    ASSERT_TRUE(
        whole->RunPixels(std::as_bytes(std::span(pixels)), row, params, context, expected).ok());
    Bytes values(out.bytes() / DTypeBytes(out.dtype));
    const Status ran = whole->BeforeTail().RunPixels(std::as_bytes(std::span(pixels)), row, params,
                                                     context, values);
    ASSERT_TRUE(ran.ok()) << ran.ToString();
    const Result<Finisher> finisher = Finisher::Make(*chain, chain->tail());
    ASSERT_TRUE(finisher.ok());
    EXPECT_EQ(finisher->dtype(), out.dtype);
    ASSERT_EQ(InPieces(random, *finisher, values), Bytes(expected.begin(), expected.end()));
  }
}

TEST(Finisher, TheTailOfAnotherBuildIsRefused) {
  const Result<Chain> chain =
      Chain::Compile({MakeNode("decode"), MakeNode("to_tensor")}, Libraries(), {});
  ASSERT_TRUE(chain.ok());
  EXPECT_EQ(Finisher::Make(*chain, 1).status().code(), Code::kOk);
  EXPECT_EQ(Finisher::Make(*chain, 2).status().code(), Code::kUnsupported);
  EXPECT_EQ(Finisher::Make(*chain, 0).status().code(), Code::kUnsupported);
}

}  // namespace
}  // namespace headrace::ops::testing
