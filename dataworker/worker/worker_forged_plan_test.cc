// A job whose plan has the quick hash of another job's plan, to have its pictures in the other's batches.
#include <string>

#include "base/hash.h"
#include "base/hash_forgery.h"
#include "dataworker/worker/worker_test_base.h"
#include "gmock/gmock.h"
#include "ops/core/graph.h"

namespace headrace::dataworker {
namespace {

constexpr std::size_t kFree = 400;

class ForgedPlanTest : public WorkerTest {
 protected:
  void SetUp() override {
    WorkerTest::SetUp();
    Resize("bilinear");
    attach_.split.cache_node = 2;
    attach_.split.worker_nodes = 5;
    attach_.cache_bytes = std::uint64_t{8} << 20;
  }
  void Resize(const std::string& interpolation) {
    if (attach_.plan.chain.size() == 5) attach_.plan.chain.erase(attach_.plan.chain.begin() + 1);
    const Args args = {{"size", std::int64_t{26}}, {"interpolation", interpolation}};
    attach_.plan.chain.insert(attach_.plan.chain.begin() + 1, MakeNode("resize", args));
  }
  // What the cache knows the pictures of this plan by.
  [[nodiscard]] Bytes PrefixText() const {
    ops::Graph graph = *ops::Graph::Compile(attach_.plan.chain, {4}, attach_.plan.libraries, {},
                                            ops::TorchFunctions::Loaded(), {});
    return graph.prefix_text();
  }
  void ExpectItsOwn(TestWorker& worker) {
    TestClient client(worker);
    ASSERT_TRUE(client.Attach(attach_, blobs_).status.ok());
    const wire::BatchRequest request = Request(AllKeys());
    client.Send(request);
    Bytes payload;
    const wire::BatchDone done = client.Next<wire::BatchDone>(&payload);
    ExpectBatch(request, done, payload);
  }
};

TEST_F(ForgedPlanTest, IsNotTakenForAnothersByTheCache) {
  const std::uint64_t honest = HashBytes(PrefixText());
  const wire::Attach of_the_other = attach_;
  // Its pictures are made in another way; the version of its Pillow is whatever it says.
  attach_.session = SessionId(78);
  attach_.job = JobId(6);
  Resize("nearest");
  std::string& pillow = attach_.plan.libraries.pillow;
  for (char filler = 'a'; filler <= 'z'; ++filler) {
    pillow = std::string(kFree, filler);
    ForgedHash forge{.text = std::string(AsText(PrefixText()))};
    const std::size_t begin = forge.text.find(pillow);
    forge.first = begin / 64 + 1;
    forge.second = forge.first + 1;
    ASSERT_GT(forge.text.size(), 240U);
    ASSERT_LT((forge.second + 1) * 64, begin + kFree);
    forge.To(honest);
    pillow = forge.text.substr(begin, kFree);
    if (HashBytes(PrefixText()) == honest) break;  // else it has a dot, which ends a version
  }
  ASSERT_EQ(HashBytes(PrefixText()), honest);
  TestWorker worker("", attach_.cache_bytes);
  ExpectItsOwn(worker);
  attach_ = of_the_other;
  ExpectItsOwn(worker);
}

}  // namespace
}  // namespace headrace::dataworker
