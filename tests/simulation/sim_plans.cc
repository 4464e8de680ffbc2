#include "tests/simulation/sim_plans.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "base/check.h"
#include "base/hash.h"
#include "ops/core/graph.h"

namespace headrace::simulation {
namespace {

constexpr std::int64_t kSide = 8;
constexpr std::int64_t kPixels = kSide * kSide * 3;

std::uint8_t Pixel(std::int64_t row, std::int64_t at) {
  return static_cast<std::uint8_t>(MixBits(static_cast<std::uint64_t>(row * kPixels + at)));
}
std::int64_t Label(std::int64_t row) { return row * 7 + 3; }

Node MakeNode(std::string op, Args args = {}) {
  Node node;
  node.op = std::move(op);
  node.args = std::move(args);
  return node;
}

BlobHash AddBlob(SimPlan& plan, Bytes content) {
  const BlobHash hash = HashBlob(content);
  const auto owner = std::make_shared<const Bytes>(std::move(content));
  plan.blobs[hash] = {.data = *owner, .owner = owner};
  return hash;
}

SimPlan MakeInLanes(int kind) {
  SimPlan made;
  made.plan.has_python_stage = true;
  made.plan.rng = kind == kLanePlan ? RngMode::kNone : RngMode::kTorch;
  made.plan.lanes = kind == kLanePlan ? 3 : 2;
  return made;
}

SimPlan Make(int kind) {
  if (RunsInLanes(kind)) return MakeInLanes(kind);
  SimPlan made;
  Bytes images(static_cast<std::size_t>(kRows * kPixels));
  Bytes labels(static_cast<std::size_t>(kRows) * sizeof(std::int64_t));
  for (std::int64_t row = 0; row < kRows; ++row) {
    for (std::int64_t at = 0; at < kPixels; ++at) {
      images[static_cast<std::size_t>(row * kPixels + at)] = std::byte{Pixel(row, at)};
    }
    const std::int64_t label = Label(row);
    std::memcpy(&labels[static_cast<std::size_t>(row) * sizeof(label)], &label, sizeof(label));
  }
  const BlobHash image_blob = AddBlob(made, std::move(images));
  const BlobHash label_blob = AddBlob(made, std::move(labels));
  Plan& plan = made.plan;
  plan.leaves = {
      {.source = "arrays",
       .args = {},
       .rows = kRows,
       .table = {},
       .arrays = {{image_blob, DType::kU8, {kSide, kSide, 3}}, {label_blob, DType::kI64, {}}}}};
  plan.fields = {{FieldSpec::Kind::kChain, 0}, {FieldSpec::Kind::kArray, 1}};
  plan.libraries = {"13.0.0", "2.13.0+cpu", "0.28.0", "AVX512"};
  plan.chain = {MakeNode("from_array", {{"mode", std::string("RGB")}})};
  plan.rng = RngMode::kNone;
  plan.lanes = 1;
  if (kind == kPlans - 1) {
    plan.leaves = {{.source = "simulated",
                    .args = {{"store", std::string("simulated")}},
                    .rows = kRows,
                    .table = {},
                    .arrays = {}}};
    made.blobs.clear();
  }
  if (kind > 0) {
    plan.rng = kind == 1 ? RngMode::kSample : RngMode::kTorch;
    plan.lanes = std::min(kind, 3);
    plan.chain.push_back(MakeNode("random_crop", {{"size", std::int64_t{6}}}));
    plan.chain.push_back(MakeNode("random_horizontal_flip", {{"p", 0.5}}));
  }
  plan.chain.push_back(MakeNode("to_tensor"));
  return made;
}

ops::Graph Compiled(int kind) {
  const Plan& plan = PlanOf(kind).plan;
  auto graph = ops::Graph::Compile(plan.chain, ValuesOf(plan), plan.libraries, {},
                                   ops::TorchFunctions::Loaded(), ListsOf(plan));
  HR_CHECK(graph.ok());
  return std::move(graph).value();
}

}  // namespace

const SimPlan& PlanOf(int kind) {
  static const std::array<SimPlan, kPlans + kLanePlans> kAll = {Make(0), Make(1), Make(2), Make(3),
                                                                Make(4), Make(5), Make(6)};
  return kAll[static_cast<std::size_t>(kind)];
}

SimRow RowAt(std::int64_t row) {
  SimRow made;
  for (std::int64_t at = 0; at < kPixels; ++at) made.pixels.push_back(std::byte{Pixel(row, at)});
  made.spec = {DType::kU8, Layout::kPlain, {kSide, kSide, 3}};
  made.label = Label(row);
  return made;
}

std::vector<std::int64_t> KeysOf(std::uint64_t base_seed, std::int64_t batch) {
  const std::uint64_t word = MixBits(base_seed * 1000 + static_cast<std::uint64_t>(batch));
  std::vector<std::int64_t> keys(1 + word % 4);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    keys[i] = static_cast<std::int64_t>(MixBits(word + i) % static_cast<std::uint64_t>(kRows));
  }
  return keys;
}

Bytes StateAfter(int kind, ByteSpan state_before) {
  static const std::array<ops::Graph, kPlans> kGraphs = {Compiled(0), Compiled(1), Compiled(2),
                                                         Compiled(3), Compiled(4)};
  const ops::Graph& graph = kGraphs[static_cast<std::size_t>(kind)];
  ops::Generators generators;
  HR_CHECK(generators.SetState(state_before).ok());
  std::vector<std::int32_t> params(static_cast<std::size_t>(graph.param_words()));
  std::vector<TensorSpec> values(graph.values().size());
  const TensorSpec row{DType::kU8, Layout::kPlain, {kSide, kSide, 3}};
  HR_CHECK(graph.Draw(row, generators, params, values).ok());
  return generators.State();
}

std::vector<std::uint64_t> RowsOf(const Batch& batch) {
  std::vector<std::uint64_t> rows;
  if (!batch.buffers.empty()) {
    rows.resize(batch.buffers[0].size() / sizeof(std::uint64_t));
    std::memcpy(rows.data(), batch.buffers[0].data(), rows.size() * sizeof(std::uint64_t));
  }
  for (const BatchField& field : batch.fields) {
    const auto count = static_cast<std::size_t>(field.shape.at(0));
    HR_CHECK(count > 0 && field.data.size() % count == 0);
    rows.resize(count, 1);
    const std::size_t bytes = field.data.size() / count;
    for (std::size_t i = 0; i < count; ++i) {
      rows[i] = HashBytes(field.data.subspan(i * bytes, bytes), rows[i]);
    }
  }
  return rows;
}

std::vector<std::uint64_t> PlainRows(const std::vector<std::int64_t>& keys) {
  std::vector<std::uint64_t> rows;
  for (const std::int64_t key : keys) {
    std::array<float, kPixels> values{};
    for (std::int64_t channel = 0; channel < 3; ++channel) {
      for (std::int64_t at = 0; at < kSide * kSide; ++at) {
        values[static_cast<std::size_t>(channel * kSide * kSide + at)] =
            static_cast<float>(Pixel(key, at * 3 + channel)) / 255.0F;
      }
    }
    const std::int64_t label = Label(key);
    const std::uint64_t image = HashBytes(std::as_bytes(std::span(values)), 1);
    rows.push_back(HashBytes(std::as_bytes(std::span(&label, 1)), image));
  }
  return rows;
}

}  // namespace headrace::simulation
