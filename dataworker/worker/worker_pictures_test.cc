// A whole worker against a scripted client: samples of an image and its mask.
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "dataworker/worker/worker_test_base.h"
#include "gmock/gmock.h"

namespace headrace::dataworker {
namespace {

using ::testing::HasSubstr;

class WorkerPicturesTest : public WorkerTest {
 protected:
  static constexpr std::int64_t kMasks = 100;  // the mask of row r is the file r + kMasks
  static constexpr std::size_t kMaskBytes = kSide * kSide;

  void SetUp() override {
    WorkerTest::SetUp();
    wire::FileTable table{.root = directory_.path(), .paths = {}, .labels = {}};
    for (std::int64_t row = 0; row < kFiles; ++row) {
      WriteMask(row, 50 - static_cast<int>(row));
      for (const std::int64_t file : {row, row + kMasks}) {
        table.paths.push_back(std::to_string(file) + ".png");
        table.labels.push_back(row * 7);
      }
    }
    image_ = attach_.plan.chain;
    mask_ = {MakeNode("decode", {{"mode", std::string("L")}}), image_[1], image_[2],
             MakeNode("pil_to_tensor", {})};
    attach_.plan.leaves = {{.source = "file_groups",
                            .args = {{"files", std::int64_t{2}}},
                            .rows = kFiles,
                            .table = AddBlob(wire::EncodeFileTable(table)),
                            .arrays = {}}};
    for (Node node : mask_) {
      if (node.op == "decode") {
        node.args["file"] = std::int64_t{1};
        node.inputs = {Node::kSource};
      }
      if (node.op == "random_crop") node.args["draws_of"] = std::int64_t{1};
      if (node.op == "random_horizontal_flip") node.args["draws_of"] = std::int64_t{2};
      attach_.plan.chain.push_back(std::move(node));
    }
    attach_.plan.fields = {
        {FieldSpec::Kind::kValue, 3}, {FieldSpec::Kind::kArray, 1}, {FieldSpec::Kind::kValue, 7}};
    attach_.split.worker_nodes = 8;
  }
  void WriteMask(std::int64_t row, int width) {
    directory_.Write(std::to_string(row + kMasks) + ".png",
                     TinyPng::Make(30 + static_cast<int>(row), width,
                                   static_cast<std::uint64_t>(row + kMasks) * 1'000'000));
  }
  // A mask alone draws the same numbers: it has the size of its image.
  void ExpectPairs(const wire::BatchRequest& request, const wire::BatchDone& done, ByteSpan slot,
                   const std::vector<std::size_t>& positions) const {
    ASSERT_EQ(done.fields.size(), 3U);
    EXPECT_EQ(done.fields[2].dtype, DType::kU8);
    EXPECT_EQ(done.fields[2].shape,
              (std::vector<std::int64_t>{std::ssize(request.keys), 1, kSide, kSide}));
    for (const std::size_t position : positions) {
      const std::int64_t key = request.keys[position];
      const auto expect = [&](std::size_t field, std::size_t bytes, std::int64_t file,
                              const std::vector<Node>& nodes) {
        ops::TorchGenerator generator(static_cast<std::uint64_t>(key) * 31 + 5);
        EXPECT_TRUE(
            std::ranges::equal(slot.subspan(done.fields[field].offset + position * bytes, bytes),
                               Make(file, nodes, generator)))
            << "field " << field << " of position " << position;
      };
      expect(0, kPixelBytes, key, image_);
      expect(2, kMaskBytes, key + kMasks, mask_);
      std::int64_t label = -1;
      std::memcpy(&label, slot.data() + done.fields[1].offset + position * 8, 8);
      EXPECT_EQ(label, key * 7);
    }
  }

  std::vector<Node> image_, mask_;
};

TEST_F(WorkerPicturesTest, AnImageAndItsMaskAreMadeFromTheSameDraws) {
  std::filesystem::remove(directory_.path() + "/102.png");
  WriteMask(3, 40);  // of another size than its image
  for (const std::uint64_t cache_bytes : {std::uint64_t{0}, std::uint64_t{8} << 20}) {
    TestWorker worker("", cache_bytes);
    TestClient client(worker);
    const TestArena arena(kArenaBytes);
    attach_.cache_bytes = cache_bytes;
    client.Attach(attach_, blobs_, &arena);
    for (int epoch = 0; epoch < 3; ++epoch) {
      const wire::BatchRequest request = Request({1, 2, 3, 4, 5});
      client.Send(request);
      const wire::BatchDone done = client.Next<wire::BatchDone>();
      ASSERT_TRUE(done.status.ok()) << done.status.ToString();
      ASSERT_EQ(done.failures.size(), 2U);
      EXPECT_EQ(done.failures[0].position, 1);
      EXPECT_EQ(done.failures[0].code, Code::kNotFound);
      EXPECT_THAT(done.failures[0].message, HasSubstr("/102.png"));
      EXPECT_EQ(done.failures[1].position, 2);
      EXPECT_EQ(done.failures[1].code, Code::kUnsupported);
      ExpectPairs(request, done, arena.memory().subspan(4096), {0, 3, 4});
      const bool cached = cache_bytes > 0 && epoch > 0;
      EXPECT_EQ(done.cost.decoded_hits, cached ? 3U : 0U);
    }
  }
}

TEST_F(WorkerPicturesTest, AMaskThatChangesIsNeverServedAsItWas) {
  attach_.cache_bytes = std::uint64_t{8} << 20;
  TestWorker worker("", attach_.cache_bytes);
  TestClient client(worker);
  const TestArena arena(kArenaBytes);
  client.Attach(attach_, blobs_, &arena);
  for (int epoch = 0; epoch < 3; ++epoch) {
    if (epoch == 2) {
      directory_.Write("104.png", TinyPng::Make(34, 46, 4711));
    }
    const wire::BatchRequest request = Request({3, 4});
    client.Send(request);
    const wire::BatchDone done = client.Next<wire::BatchDone>();
    ASSERT_TRUE(done.status.ok()) << done.status.ToString();
    EXPECT_TRUE(done.failures.empty());
    ExpectPairs(request, done, arena.memory().subspan(4096), {0, 1});
    EXPECT_EQ(done.cost.decoded_hits, epoch == 0 ? 0U : epoch == 1 ? 2U : 1U);
  }
}

TEST_F(WorkerPicturesTest, ASourceOfAnotherNumberOfFilesIsRefused) {
  TestWorker worker;
  TestClient client(worker);
  client.Attach(attach_, blobs_);
  client.Send(Request({0}));
  EXPECT_TRUE(client.Next<wire::BatchDone>().status.ok());  // so the blobs are there
  attach_.session = SessionId(attach_.session.value + 1);
  attach_.plan.leaves[0].args["files"] = std::int64_t{4};
  attach_.plan.leaves[0].rows = kFiles / 2;
  const wire::Attached answer = client.Attach(attach_, blobs_);
  EXPECT_EQ(answer.status.code(), Code::kInvalidArgument);
  EXPECT_THAT(answer.status.message(), HasSubstr("4 files a sample, and the plan takes 2"));
}

}  // namespace
}  // namespace headrace::dataworker
