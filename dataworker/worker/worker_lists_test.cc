#include <filesystem>

#include "dataworker/worker/worker_test_base.h"
#include "gmock/gmock.h"
#include "schemas/wire/field_layout.h"

// Batches of samples with shapes of their own.
namespace headrace::dataworker {
namespace {

class WorkerListsTest : public WorkerTest {
 protected:
  void SetUp() override {
    WorkerTest::SetUp();
    attach_.plan.chain = {attach_.plan.chain[0], attach_.plan.chain[2], attach_.plan.chain[3]};
    attach_.plan.fields = {{FieldSpec::Kind::kList, 2}, {FieldSpec::Kind::kArray, 1}};
    attach_.split.worker_nodes = 3;
  }
  // Files 30 + key high and 50 - key wide.
  void ExpectRows(const wire::BatchRequest& request, const wire::BatchDone& done, ByteSpan slot,
                  const std::vector<std::size_t>& absent = {}) const {
    ASSERT_TRUE(done.status.ok()) << done.status.ToString();
    ASSERT_EQ(done.fields.size(), 2U);
    const std::vector<wire::FieldRow> rows = wire::RowsOf(done.fields[0]);
    ASSERT_EQ(rows.size(), request.keys.size());
    ASSERT_EQ(done.failures.size(), absent.size());
    for (std::size_t i = 0; i < rows.size(); ++i) {
      std::int64_t label = -1;
      std::memcpy(&label, slot.data() + done.fields[1].offset + i * 8, 8);
      if (std::ranges::find(absent, i) != absent.end()) continue;
      const std::int64_t key = request.keys[i];
      EXPECT_EQ(label, key * 7);
      EXPECT_THAT(rows[i].shape, ::testing::ElementsAre(3, 30 + key, 50 - key));
      const Bytes expected = Expected(key);
      EXPECT_TRUE(std::ranges::equal(slot.subspan(rows[i].offset, rows[i].bytes), expected))
          << "position " << i;
    }
  }
};

TEST_F(WorkerListsTest, EachSampleHasItsOwnShape) {
  std::filesystem::remove(directory_.path() + "/2.png");
  directory_.Write("3.png", "not an image");
  for (const std::uint64_t cache_bytes : {std::uint64_t{0}, std::uint64_t{8} << 20}) {
    for (const bool shared : {true, false}) {
      TestWorker worker("", cache_bytes);
      TestClient client(worker);
      const TestArena arena(kArenaBytes);
      attach_.cache_bytes = cache_bytes;
      client.Attach(attach_, blobs_, shared ? &arena : nullptr);
      for (int epoch = 0; epoch < 2; ++epoch) {
        const wire::BatchRequest request = Request({1, 2, 3, 4, 11, 1, 0});
        client.Send(request);
        Bytes payload;
        const wire::BatchDone done = client.Next<wire::BatchDone>(&payload);
        const ByteSpan slot = arena.memory().subspan(4096);
        ExpectRows(request, done, shared ? slot : ByteSpan(payload), {1, 2});
        EXPECT_EQ(payload.size(), shared ? 0 : done.used_bytes);
        // Sample 1 comes twice in the batch.
        if (epoch == 0) continue;
        EXPECT_EQ(done.cost.decoded_hits, cache_bytes > 0 ? 5U : 0U);
      }
    }
  }
}

TEST_F(WorkerListsTest, ASlotForSmallerSamplesIsRefusedWithTheBytesThatWouldDo) {
  TestWorker worker;
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  client.Attach(attach_, blobs_, &arena);
  wire::BatchRequest request = Request({0, 11});
  request.slot_bytes = 20'000;
  client.Send(request);
  const wire::BatchDone small = client.Next<wire::BatchDone>();
  EXPECT_EQ(small.status.code(), Code::kResourceExhausted);
  EXPECT_EQ(small.status.detail(), Detail::kSlotTooSmall);
  EXPECT_EQ(small.cost.misses, 0U) << "nothing was decoded for it";
  request = Request({0, 11});
  request.slot_bytes = small.needed_bytes;
  client.Send(request);
  ExpectRows(request, client.Next<wire::BatchDone>(), arena.memory().subspan(4096));
}

// The planner has drawn for sizes that the files have no more.
TEST_F(WorkerListsTest, AFileOfAnotherSizeFailsAlone) {
  attach_.plan.rng = RngMode::kTorch;
  TestWorker worker;
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  client.Attach(attach_, blobs_, &arena);
  wire::BatchRequest request = Request({4, 5});
  request.seeds.clear();
  request.params = {0, 0};
  request.specs = {TensorSpec{DType::kU8, Layout::kHwc, {34, 46, 3}},
                   TensorSpec{DType::kU8, Layout::kHwc, {99, 10, 3}}};
  client.Send(request);
  const wire::BatchDone done = client.Next<wire::BatchDone>();
  ASSERT_TRUE(done.status.ok()) << done.status.ToString();
  ASSERT_EQ(done.failures.size(), 1U);
  EXPECT_EQ(done.failures[0].position, 1);
  EXPECT_EQ(done.failures[0].detail, Detail::kOtherSpec);
  EXPECT_THAT(wire::RowsOf(done.fields[0])[0].shape, ::testing::ElementsAre(3, 34, 46));
}

TEST_F(WorkerListsTest, ABatchOfWhichNothingCanBeReadFailsSampleBySample) {
  TestWorker worker;
  TestClient client(worker);
  client.Attach(attach_, blobs_);
  client.Send(Request({98, 99}));
  const wire::BatchDone none = client.Next<wire::BatchDone>();
  EXPECT_TRUE(none.status.ok());
  EXPECT_TRUE(none.fields.empty());
  EXPECT_EQ(none.failures.size(), 2U);
}

// Beside the list the same value stacked, which needs one shape.
TEST_F(WorkerListsTest, AStackBesideAListIsLeftToTheTrainerIfShapesDiffer) {
  attach_.plan.fields.push_back({FieldSpec::Kind::kValue, 2});
  TestWorker worker;
  TestClient client(worker);
  client.Attach(attach_, blobs_);
  client.Send(Request({4, 5}));
  EXPECT_EQ(client.Next<wire::BatchDone>().status.code(), Code::kUnsupported);
  const wire::BatchRequest request = Request({4, 4});
  client.Send(request);
  Bytes payload;
  const wire::BatchDone done = client.Next<wire::BatchDone>(&payload);
  ASSERT_TRUE(done.status.ok()) << done.status.ToString();
  const Bytes expected = Expected(4);
  const ByteSpan second =
      ByteSpan(payload).subspan(done.fields[2].offset + expected.size(), expected.size());
  EXPECT_TRUE(std::ranges::equal(second, expected));
}

TEST_F(WorkerListsTest, TheTailStaysWithTheWorker) {
  TestWorker worker;
  TestClient client(worker);
  client.Attach(attach_, blobs_);
  wire::BatchRequest request = Request({4, 5});
  request.tail_node = 2;
  client.Send(request);
  Bytes payload;
  const wire::BatchDone done = client.Next<wire::BatchDone>(&payload);
  EXPECT_EQ(done.tail_node, 0);
  ExpectRows(request, done, payload);
}

}  // namespace
}  // namespace headrace::dataworker
