// A whole worker against a scripted client.
#include "dataworker/worker.h"

#include <sys/stat.h>

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "dataworker/worker_fixture.h"
#include "gmock/gmock.h"
#include "ops/core/runner.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

constexpr std::int64_t kFiles = 12;
constexpr std::size_t kSide = 24;
constexpr std::size_t kPixelBytes = kSide * kSide * 3 * 4;
constexpr std::size_t kArenaBytes = std::size_t{8} << 20;

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
    attach_.plan.leaves = {
        {.kind = SourceLeaf::Kind::kFiles, .rows = kFiles, .table = hash, .arrays = {}}};
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
    auto chain = ops::Chain::Compile(attach_.plan.chain, attach_.plan.libraries, {});
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
    ops::TorchGenerator generator(static_cast<std::uint64_t>(key) * 31 + 5);
    ops::ImageSpec out;
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
  ASSERT_EQ(described.heights.size(), AllKeys().size());
  for (std::size_t i = 0; i < described.heights.size(); ++i) {
    const auto key = static_cast<std::int32_t>(AllKeys()[i]);
    EXPECT_EQ(described.heights[i], key == 2 ? -1 : 30 + key);
    EXPECT_EQ(described.widths[i], key == 2 ? -1 : 50 - key);
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

TEST_F(WorkerTest, EveryRequestIsAnsweredOnceWhenAnIterationIsCancelled) {
  TestWorker worker("", 0, /*threads=*/1);
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  client.Attach(attach_, blobs_, &arena);
  std::map<std::int64_t, int> answers;
  std::vector<wire::BatchRequest> later;
  for (int i = 0; i < 40; ++i) {
    wire::BatchRequest request = Request(AllKeys());
    if (i % 4 == 3) {
      request.iteration = IterationId(2);
      request.slot_offset = 1 << 20;
      later.push_back(request);
    }
    client.Send(request);
  }
  client.Send(wire::CancelIterations{attach_.session, IterationId(2)});
  int made = 0;
  for (int i = 0; i < 40; ++i) {
    const wire::BatchDone done = client.Next<wire::BatchDone>();
    ++answers[done.batch.value];
    if (done.iteration == IterationId(2)) {
      EXPECT_TRUE(done.status.ok());
      ++made;
    } else {
      EXPECT_TRUE(done.status.ok() || done.status.code() == Code::kCancelled);
    }
  }
  EXPECT_EQ(made, 10);
  EXPECT_EQ(answers.size(), 40U);
}

TEST_F(WorkerTest, AHangUpInTheMiddleEndsTheSession) {
  TestWorker worker;
  TestClient client(worker);
  {
    const TestArena arena(kArenaBytes);
    client.Attach(attach_, blobs_, &arena);
    for (int i = 0; i < 30; ++i) client.Send(Request(AllKeys()));
  }
  client.HangUp();
  // Soon nobody knows the session: until then answers to the requests above come.
  while (true) {
    client.Send(Request({0}));
    if (client.Next<wire::BatchDone>().status.code() == Code::kNotFound) break;
  }
}

TEST_F(WorkerTest, DamagedBlobsAndPlansAreRefusedWithTheReason) {
  TestWorker worker;
  TestClient client(worker);
  auto damaged = blobs_;
  damaged.begin()->second[40] ^= std::byte{1};
  client.Attach(attach_, damaged);
  client.Send(Request({0}));
  const wire::BatchDone done = client.Next<wire::BatchDone>();
  EXPECT_EQ(done.status.code(), Code::kDataLoss);
  EXPECT_THAT(done.status.message(), HasSubstr("is damaged"));
  // Attached again, with the right content this time.
  client.Attach(attach_, blobs_);
  const wire::BatchRequest request = Request({0});
  client.Send(request);
  Bytes payload;
  const wire::BatchDone good = client.Next<wire::BatchDone>(&payload);
  ExpectBatch(request, good, payload);

  attach_.session = SessionId(78);
  attach_.plan.chain[1].op = "no_such_op";
  const wire::Attached refused = client.Attach(attach_, blobs_);
  EXPECT_EQ(refused.status.code(), Code::kUnsupported);
  EXPECT_THAT(refused.status.message(), HasSubstr("no_such_op"));
}

TEST_F(WorkerTest, BlobsComeByDescriptorToo) {
  TestWorker worker;
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  net::DescriptorMessage message;
  message.session = attach_.session;
  message.bytes = arena.memory().size();
  client.PassDescriptor(message, arena.fd());
  wire::Attached attached;
  attach_.use_arena = true;
  do {
    ++attach_.request;
    client.Send(attach_);
    attached = client.Next<wire::Attached>();
  } while (!attached.use_arena);
  ASSERT_EQ(attached.needed_blobs.size(), 1U);
  const Bytes& content = blobs_.at(attached.needed_blobs[0]);
  const TestArena blob(content.size());
  std::copy(content.begin(), content.end(), blob.memory().begin());
  message.kind = net::DescriptorMessage::Kind::kBlob;
  message.hash = attached.needed_blobs[0];
  message.bytes = content.size();
  client.PassDescriptor(message, blob.fd());
  wire::BatchRequest request = Request(AllKeys());
  client.Send(request);
  ExpectBatch(request, client.Next<wire::BatchDone>(), arena.memory().subspan(4096));
}

TEST_F(WorkerTest, ArraysOfImagesAndNumbersMakeABatch) {
  Bytes images(10 * 8 * 8 * 3);
  for (std::size_t i = 0; i < images.size(); ++i) images[i] = static_cast<std::byte>(MixBits(i));
  Bytes numbers(10 * 4);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<std::byte>(i);
  attach_.plan.leaves = {
      {.kind = SourceLeaf::Kind::kArrays,
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

TEST_F(WorkerTest, LeaveAnswersWhatWasAskedAndTakesNobodyNew) {
  TestWorker worker;
  TestClient client(worker);
  client.Attach(attach_, blobs_);
  for (int i = 0; i < 5; ++i) client.Send(Request(AllKeys()));
  client.Send(wire::Ping{4});
  EXPECT_EQ(client.Next<wire::Pong>().sequence, 4U);  // the requests are there now
  worker.Leave();
  wire::Attach other = attach_;
  other.session = SessionId(99);
  EXPECT_EQ(client.Attach(other, blobs_).status.code(), Code::kUnavailable);
  client.Send(wire::Detach{attach_.session});
  worker.WaitForEnd();
}

TEST(WorkerStart, ADirectoryThatOthersMayEnterIsRefused) {
  const TemporaryDirectory directory;
  ASSERT_EQ(::chmod(directory.path().c_str(), 0755), 0);
  auto reactor = net::Reactor::Make("test");
  WorkerOptions options;
  options.directory = directory.path();
  const auto worker = Worker::Start(**reactor, options, [](Status) {});
  EXPECT_EQ(worker.status().code(), Code::kInvalidArgument);
  EXPECT_THAT(worker.status().message(), HasSubstr("0700"));
}

}  // namespace
}  // namespace headrace::dataworker
