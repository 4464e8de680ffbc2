// A whole worker against a scripted client: what it makes.
#include <filesystem>
#include <string>
#include <vector>

#include "dataworker/worker/worker_test_base.h"
#include "gmock/gmock.h"
#include "ops/core/finisher.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

TEST_F(WorkerTest, ArenaAndNetworkGiveTheBitsOfTheChain) {
  TestWorker local;
  TestClient client(local);
  const TestArena arena(kArenaBytes);
  EXPECT_TRUE(client.Attach(attach_, blobs_, &arena).status.ok());
  wire::BatchRequest request = Request(AllKeys());
  client.Send(request);
  ExpectBatch(request, client.Next<wire::BatchDone>(), arena.memory().subspan(4096));

  TestWorker remote("tcp://127.0.0.1:*");
  TestClient far(remote);
  far.Attach(attach_, blobs_);
  request = Request(AllKeys());
  far.Send(request);
  Bytes payload;
  const wire::BatchDone done = far.Next<wire::BatchDone>(&payload);
  EXPECT_EQ(payload.size(), done.used_bytes);
  ExpectBatch(request, done, payload);
}

// The tail of the chain starts at node 3.
TEST_F(WorkerTest, TheTailIsLeftToTheTrainerWhereItAllowsThatAndTheAnswerCarriesTheBatch) {
  TestWorker worker("tcp://127.0.0.1:*", 1 << 20);
  TestClient far(worker);
  far.Attach(attach_, blobs_);
  wire::BatchRequest request;
  std::uint64_t slot_bytes = 1 << 20;
  const auto ask = [&](std::int32_t tail, Bytes* payload) {
    request = Request(AllKeys());
    request.tail_node = tail;
    request.slot_bytes = slot_bytes;
    far.Send(request);
    return far.Next<wire::BatchDone>(payload);
  };
  Bytes payload;
  for (const std::int32_t other : {0, 2, 4}) {
    const wire::BatchDone done = ask(other, &payload);
    EXPECT_EQ(done.tail_node, 0);
    ExpectBatch(request, done, payload);
  }
  auto chain = ops::Chain::Compile(attach_.plan.chain, attach_.plan.libraries, {});
  const auto finisher = ops::Finisher::Make(*chain, 3);
  ASSERT_TRUE(finisher.ok());
  for (int round = 0; round < 2; ++round) {  // from the cache, too
    wire::BatchDone done = ask(3, &payload);
    ASSERT_TRUE(done.status.ok()) << done.status.ToString();
    EXPECT_EQ(done.tail_node, 3);
    EXPECT_EQ(payload.size(), done.used_bytes);
    EXPECT_LT(done.used_bytes, kFiles * (kPixelBytes / 4 + 8) + 64);
    EXPECT_EQ(done.fields[0].dtype, DType::kU8);
    Bytes finished(kFiles * kPixelBytes + 64 + kFiles * 8);
    constexpr std::size_t kPlane = kSide * kSide;
    for (std::size_t i = 0; i < kFiles * 3; ++i) {
      finisher->Finish(static_cast<int>(i % 3), ByteSpan(payload).subspan(i * kPlane, kPlane),
                       MutableByteSpan(finished).subspan(i * kPlane * 4, kPlane * 4));
    }
    const std::size_t labels = (kFiles * kPixelBytes + 63) / 64 * 64;
    std::copy_n(payload.begin() + static_cast<std::ptrdiff_t>(done.fields[1].offset), kFiles * 8,
                finished.begin() + static_cast<std::ptrdiff_t>(labels));
    done.fields[0].dtype = DType::kF32;
    done.fields[1].offset = labels;
    ExpectBatch(request, done, finished);
  }
  // The slot has to hold the finished batch.
  slot_bytes = kFiles * kPixelBytes;
  const wire::BatchDone refused = ask(3, &payload);
  EXPECT_EQ(refused.status.code(), Code::kResourceExhausted);
  EXPECT_GT(refused.needed_bytes, kFiles * kPixelBytes);

  TestWorker local;
  TestClient near(local);
  const TestArena arena(kArenaBytes);
  near.Attach(attach_, blobs_, &arena);
  wire::BatchRequest here = Request(AllKeys());
  here.tail_node = 3;
  near.Send(here);
  const wire::BatchDone written = near.Next<wire::BatchDone>();
  EXPECT_EQ(written.tail_node, 0);
  ExpectBatch(here, written, arena.memory().subspan(4096));
}

TEST_F(WorkerTest, NothingOutsideOfTheSlotIsWritten) {
  TestWorker worker;
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  std::fill(arena.memory().begin(), arena.memory().end(), std::byte{0x5a});
  client.Attach(attach_, blobs_, &arena);
  wire::BatchRequest request = Request({3, 4});
  client.Send(request);
  const wire::BatchDone done = client.Next<wire::BatchDone>();
  ExpectBatch(request, done, arena.memory().subspan(4096));
  const auto clean = [](ByteSpan part) {
    return std::all_of(part.begin(), part.end(), [](std::byte b) { return b == std::byte{0x5a}; });
  };
  EXPECT_TRUE(clean(arena.memory().first(4096)));
  EXPECT_TRUE(clean(arena.memory().subspan(4096 + done.used_bytes)));
}

TEST_F(WorkerTest, HostileSlotsAndRequestsAreRefused) {
  TestWorker worker;
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  client.Attach(attach_, blobs_, &arena);
  const auto code_of = [&](wire::BatchRequest request) {
    client.Send(request);
    return client.Next<wire::BatchDone>().status.code();
  };
  for (const auto& [offset, bytes] :
       std::vector<std::pair<std::uint64_t, std::uint64_t>>{{kArenaBytes - 64, 1 << 20},
                                                            {kArenaBytes + 64, 1 << 20},
                                                            {64, std::uint64_t{1} << 62},
                                                            {7, 1 << 20}}) {
    wire::BatchRequest request = Request({0, 1});
    request.slot_offset = offset;
    request.slot_bytes = bytes;
    EXPECT_EQ(code_of(request), Code::kInvalidArgument) << offset << " " << bytes;
  }
  wire::BatchRequest request = Request({0, 1});
  request.seeds.clear();
  EXPECT_EQ(code_of(request), Code::kInvalidArgument);
  EXPECT_EQ(code_of(Request({})), Code::kInvalidArgument);
  request = Request({0, 1});
  request.session = SessionId(78);
  EXPECT_EQ(code_of(request), Code::kNotFound);
  EXPECT_EQ(code_of(Request({0, 1})), Code::kOk);
}

TEST_F(WorkerTest, ASmallSlotIsAnsweredWithTheSizeThatIsNeeded) {
  TestWorker worker;
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  client.Attach(attach_, blobs_, &arena);
  wire::BatchRequest request = Request({0, 1, 2});
  request.slot_bytes = 1000;
  client.Send(request);
  const wire::BatchDone refused = client.Next<wire::BatchDone>();
  EXPECT_EQ(refused.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(refused.needed_bytes, 3 * kPixelBytes + 24);
  request.slot_bytes = refused.needed_bytes;
  ++request.attempt;
  client.Send(request);
  ExpectBatch(request, client.Next<wire::BatchDone>(), arena.memory().subspan(4096));
}

TEST_F(WorkerTest, BadSamplesFailAloneAndSkippedOnesAreLeft) {
  std::filesystem::remove(directory_.path() + "/2.png");
  directory_.Write("3.png", "not an image");
  TestWorker worker;
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  client.Attach(attach_, blobs_, &arena);
  wire::BatchRequest request = Request({1, 2, 3, 99, 5, 6});
  request.skip = {4};
  client.Send(request);
  const wire::BatchDone done = client.Next<wire::BatchDone>();
  ASSERT_EQ(done.failures.size(), 3U);
  EXPECT_EQ(done.cost.refused_samples, 3U);
  EXPECT_EQ(done.failures[0].position, 1);
  EXPECT_EQ(done.failures[0].code, Code::kNotFound);
  EXPECT_THAT(done.failures[0].message, HasSubstr("/2.png"));
  EXPECT_EQ(done.failures[1].position, 2);
  EXPECT_EQ(done.failures[1].code, Code::kUnsupported);
  EXPECT_EQ(done.failures[2].position, 3);
  EXPECT_EQ(done.failures[2].code, Code::kInvalidArgument);
  ExpectBatch(request, done, arena.memory().subspan(4096), {1, 2, 3, 4});
}

TEST_F(WorkerTest, DescribeReadsSizesAndSaysWhichHaveNone) {
  std::filesystem::remove(directory_.path() + "/2.png");
  TestWorker worker;
  TestClient client(worker);
  client.Attach(attach_, blobs_);
  wire::Describe describe{.request = 9, .session = attach_.session, .keys = AllKeys()};
  client.Send(describe);
  const wire::Described described = client.Next<wire::Described>();
  EXPECT_EQ(described.request, 9U);
  ASSERT_EQ(described.specs.size(), AllKeys().size());
  for (std::size_t i = 0; i < described.specs.size(); ++i) {
    const auto key = static_cast<std::int32_t>(AllKeys()[i]);
    const TensorSpec image{DType::kU8, Layout::kHwc, {30 + key, 50 - key, 3}};
    EXPECT_EQ(described.specs[i], key == 2 ? std::nullopt : std::optional(image));
  }
}

TEST_F(WorkerTest, LaterEpochsComeFromTheCacheWithTheSameBits) {
  TestWorker worker("", std::uint64_t{4} << 20);
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  attach_.cache_bytes = std::uint64_t{4} << 20;
  client.Attach(attach_, blobs_, &arena);
  for (int epoch = 0; epoch < 3; ++epoch) {
    wire::BatchRequest request = Request(AllKeys());
    client.Send(request);
    const wire::BatchDone done = client.Next<wire::BatchDone>();
    ExpectBatch(request, done, arena.memory().subspan(4096));
    EXPECT_EQ(done.cost.decoded_hits, epoch == 0 ? 0U : static_cast<unsigned>(kFiles));
    EXPECT_EQ(done.cost.misses, epoch == 0 ? static_cast<unsigned>(kFiles) : 0U);
  }
  EXPECT_EQ(worker.cache().entries, static_cast<std::uint64_t>(kFiles));
  // A file that changes is never served as it was.
  directory_.Write("4.png", TinyPng::Make(40, 40, 4711));
  wire::BatchRequest request = Request(AllKeys());
  client.Send(request);
  ExpectBatch(request, client.Next<wire::BatchDone>(), arena.memory().subspan(4096));
}

TEST_F(WorkerTest, CostIsToldByPathOfTheSample) {
  TestWorker worker("", std::uint64_t{4} << 20, /*threads=*/1);
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  attach_.cache_bytes = std::uint64_t{4} << 20;
  client.Attach(attach_, blobs_, &arena);
  const auto cost_of = [&](std::vector<std::int64_t> keys) {
    client.Send(Request(std::move(keys)));
    const wire::BatchDone done = client.Next<wire::BatchDone>();
    EXPECT_TRUE(done.status.ok()) << done.status.ToString();
    EXPECT_EQ(done.cost.python_ns, 0U);
    // One thread makes one sample after the other.
    EXPECT_GE(done.cost.wall_ns, done.cost.queue_ns + done.cost.source_ns + done.cost.compute_ns);
    return done.cost;
  };
  const auto bytes_of = [&](std::int64_t key) {
    return std::filesystem::file_size(directory_.path() + "/" + std::to_string(key) + ".png");
  };
  const wire::BatchCost missed = cost_of({1, 2, 3});
  EXPECT_EQ(missed.misses, 3U);
  EXPECT_EQ(missed.hit_cpu_ns, 0U);
  EXPECT_GT(missed.miss_cpu_ns, 0U);
  EXPECT_EQ(missed.source_bytes, bytes_of(1) + bytes_of(2) + bytes_of(3));
  const wire::BatchCost hit = cost_of({3, 1, 2});
  EXPECT_EQ(hit.decoded_hits, 3U);
  EXPECT_GT(hit.hit_cpu_ns, 0U);
  EXPECT_EQ(hit.miss_cpu_ns, 0U);
  EXPECT_EQ(hit.source_bytes, 0U);
  const wire::BatchCost mixed = cost_of({1, 5});
  EXPECT_GT(mixed.hit_cpu_ns, 0U);
  EXPECT_GT(mixed.miss_cpu_ns, 0U);
  EXPECT_EQ(mixed.source_bytes, bytes_of(5));
}

// Two views of other shapes and types, and the first one again.
TEST_F(WorkerTest, ABatchOfViewsIsWhatEachViewAloneWouldBe) {
  constexpr std::size_t kSmall = 8;
  const std::vector<Node> first = attach_.plan.chain;
  attach_.plan.chain.push_back(
      MakeNode("random_crop", {{"size", static_cast<std::int64_t>(kSmall)}}));
  attach_.plan.chain.back().inputs = {0};
  attach_.plan.chain.push_back(MakeNode("pil_to_tensor", {}));
  attach_.plan.fields = {{FieldSpec::Kind::kValue, 5},
                         {FieldSpec::Kind::kArray, 1},
                         {FieldSpec::Kind::kValue, 3},
                         {FieldSpec::Kind::kValue, 5}};
  attach_.split.worker_nodes = 6;
  std::filesystem::remove(directory_.path() + "/2.png");
  directory_.Write("3.png", "not an image");
  for (const std::uint64_t cache_bytes : {std::uint64_t{0}, std::uint64_t{8} << 20}) {
    TestWorker worker("", cache_bytes);
    TestClient client(worker);
    const TestArena arena(kArenaBytes);
    attach_.cache_bytes = cache_bytes;
    client.Attach(attach_, blobs_, &arena);
    for (int epoch = 0; epoch < 2; ++epoch) {
      const wire::BatchRequest request = Request({1, 2, 3, 4, 5, 1});
      client.Send(request);
      const wire::BatchDone done = client.Next<wire::BatchDone>();
      ASSERT_TRUE(done.status.ok()) << done.status.ToString();
      ASSERT_EQ(done.fields.size(), 4U);
      EXPECT_EQ(done.fields[0].shape, (std::vector<std::int64_t>{6, 3, kSmall, kSmall}));
      EXPECT_EQ(done.fields[0].dtype, DType::kU8);
      EXPECT_EQ(done.fields[2].shape, (std::vector<std::int64_t>{6, 3, kSide, kSide}));
      EXPECT_EQ(done.fields[2].dtype, DType::kF32);
      EXPECT_EQ(done.fields[3].shape, done.fields[0].shape);
      ASSERT_EQ(done.failures.size(), 2U);
      EXPECT_EQ(done.failures[0].position, 1);
      EXPECT_EQ(done.failures[1].position, 2);
      // Sample 1 comes twice in a batch.
      if (cache_bytes == 0) {
        EXPECT_EQ(done.cost.decoded_hits, 0U);
      } else if (epoch > 0) {
        EXPECT_EQ(done.cost.decoded_hits, 4U);
      }
      const ByteSpan slot = arena.memory().subspan(4096);
      const auto row = [&](std::size_t field, std::size_t position, std::size_t bytes) {
        return slot.subspan(done.fields[field].offset + position * bytes, bytes);
      };
      for (const std::size_t position : {0, 3, 4, 5}) {
        const std::int64_t key = request.keys[position];
        ops::TorchGenerator generator(static_cast<std::uint64_t>(key) * 31 + 5);
        const Bytes large = Make(key, first, generator);
        const Bytes small =
            Make(key, {first[0], attach_.plan.chain[4], attach_.plan.chain[5]}, generator);
        EXPECT_TRUE(std::ranges::equal(row(2, position, kPixelBytes), large)) << position;
        EXPECT_TRUE(std::ranges::equal(row(0, position, kSmall * kSmall * 3), small)) << position;
        EXPECT_TRUE(std::ranges::equal(row(3, position, kSmall * kSmall * 3), small)) << position;
        std::int64_t label = -1;
        std::memcpy(&label, row(1, position, 8).data(), 8);
        EXPECT_EQ(label, key * 7);
      }
    }
  }
}

TEST_F(WorkerTest, APlanOfViewsThatIsCutOrMakesNothingOfANodeIsRefused) {
  TestWorker worker;
  TestClient client(worker);
  client.Attach(attach_, blobs_);
  client.Send(Request({0}));
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());  // so the blobs are there
  attach_.plan.chain.push_back(MakeNode("pil_to_tensor", {}));
  attach_.plan.chain.back().inputs = {0};
  attach_.plan.fields = {{FieldSpec::Kind::kValue, 3}, {FieldSpec::Kind::kValue, 4}};
  const auto refusal = [&] {
    attach_.session = SessionId(attach_.session.value + 1);
    return client.Attach(attach_, blobs_).status.message();
  };
  attach_.split.worker_nodes = 4;
  EXPECT_THAT(refusal(), HasSubstr("cuts a plan that is no single chain"));
  attach_.split.worker_nodes = 5;
  attach_.plan.fields.pop_back();
  EXPECT_THAT(refusal(), HasSubstr("node 4 pil_to_tensor: no field is made of its value"));
}

TEST_F(WorkerTest, BatchesOfDifferentShapesAreLeftToTheTrainer) {
  attach_.plan.chain = {attach_.plan.chain[0], attach_.plan.chain[3]};
  attach_.plan.rng = RngMode::kNone;
  attach_.split.worker_nodes = 2;
  TestWorker worker;
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  client.Attach(attach_, blobs_, &arena);
  client.Send(Request({1, 2}));
  EXPECT_EQ(client.Next<wire::BatchDone>().status.code(), Code::kUnsupported);
  client.Send(Request({2, 2}));
  const wire::BatchDone same = client.Next<wire::BatchDone>();
  ASSERT_TRUE(same.status.ok()) << same.status.ToString();
  EXPECT_EQ(same.fields[0].shape, (std::vector<std::int64_t>{2, 3, 32, 48}));
  client.Send(Request({98, 99}));
  const wire::BatchDone none = client.Next<wire::BatchDone>();
  EXPECT_TRUE(none.status.ok());
  EXPECT_TRUE(none.fields.empty());
  EXPECT_EQ(none.failures.size(), 2U);
}

TEST_F(WorkerTest, ArraysOfImagesAndNumbersMakeABatch) {
  Bytes images(10 * 8 * 8 * 3);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<std::byte>(MixBits(i));
  Bytes numbers(10 * 4);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::byte>(i);
  attach_.plan.leaves = {
      {.source = "arrays",
       .rows = 10,
       .table = {},
       .arrays = {{AddBlob(images), DType::kU8, {8, 8, 3}}, {AddBlob(numbers), DType::kU8, {4}}}}};
  const std::vector<std::int64_t> map{9, 0, 5};
  const ByteSpan map_bytes = std::as_bytes(std::span(map));
  attach_.plan.row_map = AddBlob(CopyBytes(map_bytes));
  attach_.plan.chain = {MakeNode("from_array", {{"mode", std::string("RGB")}}),
                        MakeNode("pil_to_tensor", {})};
  attach_.plan.rng = RngMode::kNone;
  attach_.split.worker_nodes = 2;
  TestWorker worker;
  TestClient client(worker);
  client.Attach(attach_, blobs_);
  client.Send(Request({2, 0, 1}));
  Bytes payload;
  const wire::BatchDone done = client.Next<wire::BatchDone>(&payload);
  ASSERT_TRUE(done.status.ok()) << done.status.ToString();
  EXPECT_EQ(done.fields[0].shape, (std::vector<std::int64_t>{3, 3, 8, 8}));
  const std::vector<std::size_t> rows{5, 9, 0};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(payload[i * 192 + c * 64 + 13], images[rows[i] * 192 + 13 * 3 + c]);
    }
    EXPECT_EQ(payload[done.fields[1].offset + i * 4], numbers[rows[i] * 4]);
  }
}

}  // namespace
}  // namespace headrace::dataworker
