#pragma once

#include <algorithm>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/check.h"
#include "dataworker/worker/worker_fixture.h"
#include "ops/run/runner.h"

namespace headrace::dataworker {

inline constexpr std::int64_t kFiles = 12;
inline constexpr std::size_t kSide = 24;
inline constexpr std::size_t kPixelBytes = kSide * kSide * 3 * 4;
inline constexpr std::size_t kArenaBytes = std::size_t{8} << 20;

// Files of many sizes, a plan that crops them, and what must come out.
class WorkerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    wire::FileTable table{.root = directory_.path(), .paths = {}, .labels = {}};
    for (std::int64_t i = 0; i < kFiles; ++i) {
      const std::string name = std::to_string(i) + ".png";
      directory_.Write(name, TinyPng::Make(30 + static_cast<int>(i), 50 - static_cast<int>(i),
                                           static_cast<std::uint64_t>(i) * 1'000'000));
      table.paths.push_back(name);
      table.labels.push_back(i * 7);
    }
    const BlobHash hash = AddBlob(wire::EncodeFileTable(table));
    attach_.session = SessionId(77);
    attach_.job = JobId(5);
    attach_.plan.leaves = {{.source = "local_dir", .rows = kFiles, .table = hash, .arrays = {}}};
    attach_.plan.chain = {MakeNode("decode", {{"mode", std::string("RGB")}}),
                          MakeNode("random_crop", {{"size", std::int64_t{kSide}}}),
                          MakeNode("random_horizontal_flip", {{"p", 0.5}}),
                          MakeNode("to_tensor", {})};
    attach_.plan.fields = {{FieldSpec::Kind::kChain, 0}, {FieldSpec::Kind::kArray, 1}};
    attach_.plan.rng = RngMode::kSample;
    attach_.plan.libraries = {"13.0.0", "2.13.0+cpu", "0.28.0", "AVX512"};
    attach_.split.worker_nodes = 4;
    attach_.split.cache_node = 1;
  }

  static Node MakeNode(std::string op, Args args) {
    Node node;
    node.op = std::move(op);
    node.args = std::move(args);
    return node;
  }
  BlobHash AddBlob(Bytes content) {
    const BlobHash hash = HashBlob(content);
    blobs_[hash] = std::move(content);
    return hash;
  }
  [[nodiscard]] wire::BatchRequest Request(std::vector<std::int64_t> keys) {
    wire::BatchRequest request;
    request.session = attach_.session;
    request.iteration = IterationId(1);
    request.batch = BatchId(next_batch_++);
    request.attempt = static_cast<std::uint32_t>(next_batch_);
    for (const std::int64_t key : keys) {
      request.seeds.push_back(static_cast<std::uint64_t>(key) * 31 + 5);
    }
    request.keys = std::move(keys);
    request.slot_offset = 4096;
    request.slot_bytes = 1 << 20;
    return request;
  }
  static std::vector<std::int64_t> AllKeys() {
    std::vector<std::int64_t> keys(kFiles);
    for (std::int64_t i = 0; i < kFiles; ++i) keys[static_cast<std::size_t>(i)] = kFiles - 1 - i;
    return keys;
  }
  // The sample as the chain makes it in this process.
  [[nodiscard]] Bytes Expected(std::int64_t key) const {
    ops::TorchGenerator generator(static_cast<std::uint64_t>(key) * 31 + 5);
    return Make(key, attach_.plan.chain, generator);
  }
  // As this chain makes it, with the generator's next draws.
  [[nodiscard]] Bytes Make(std::int64_t key, std::vector<Node> nodes,
                           ops::TorchGenerator& generator) const {
    auto chain = ops::Chain::Compile(std::move(nodes), attach_.plan.libraries, {});
    HR_CHECK(chain.ok());
    auto shared = std::make_shared<const ops::Chain>(std::move(chain).value());
    const auto runner = ops::ChainRunner::Make(shared);
    HR_CHECK(runner.ok());
    std::ifstream file(directory_.path() + "/" + std::to_string(key) + ".png", std::ios::binary);
    const std::string text{std::istreambuf_iterator<char>(file), {}};
    const auto spec =
        ops::ChainRunner::ReadHeader(AsBytes(text), [&](std::size_t) { return AsBytes(text); });
    HR_CHECK(spec.ok());
    std::vector<std::int32_t> params(static_cast<std::size_t>(shared->param_words()));
    TensorSpec out;
    HR_CHECK(shared->Draw(*spec, generator, params, &out).ok());
    ops::OpContext context;
    Bytes pixels(out.bytes());
    HR_CHECK(runner->Run(AsBytes(text), params, context, pixels).ok());
    return pixels;
  }
  void ExpectBatch(const wire::BatchRequest& request, const wire::BatchDone& done, ByteSpan slot,
                   const std::vector<std::int32_t>& absent = {}) const {
    ASSERT_TRUE(done.status.ok()) << done.status.ToString();
    EXPECT_EQ(done.batch, request.batch);
    EXPECT_EQ(done.attempt, request.attempt);
    ASSERT_EQ(done.fields.size(), 2U);
    const auto batch = static_cast<std::int64_t>(request.keys.size());
    EXPECT_EQ(done.fields[0].shape, (std::vector<std::int64_t>{batch, 3, kSide, kSide}));
    EXPECT_EQ(done.fields[0].dtype, DType::kF32);
    EXPECT_EQ(done.fields[1].shape, (std::vector<std::int64_t>{batch}));
    EXPECT_EQ(done.fields[1].offset % 64, 0U);
    for (std::size_t i = 0; i < request.keys.size(); ++i) {
      if (std::find(absent.begin(), absent.end(), static_cast<std::int32_t>(i)) != absent.end()) {
        continue;
      }
      const Bytes expected = Expected(request.keys[i]);
      ASSERT_EQ(expected.size(), kPixelBytes);
      const ByteSpan got = slot.subspan(done.fields[0].offset + i * kPixelBytes, kPixelBytes);
      EXPECT_TRUE(std::equal(got.begin(), got.end(), expected.begin())) << "position " << i;
      std::int64_t label = -1;
      std::memcpy(&label, slot.data() + done.fields[1].offset + i * 8, 8);
      EXPECT_EQ(label, request.keys[i] * 7);
    }
  }

  TemporaryDirectory directory_;
  std::map<BlobHash, Bytes> blobs_;
  wire::Attach attach_;
  std::int64_t next_batch_ = 0;
};

}  // namespace headrace::dataworker
