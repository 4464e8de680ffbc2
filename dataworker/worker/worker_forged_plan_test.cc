// A job whose plan has the quick hash of another job's plan, to have its pictures in the other's batches.
#include <array>
#include <cstring>
#include <functional>
#include <optional>
#include <string>

#include "base/hash.h"
#include "dataworker/worker/worker_test_base.h"
#include "gmock/gmock.h"
#include "ops/core/graph.h"

#define XXH_INLINE_ALL  // for its secret
#include <xxhash.h>

namespace headrace::dataworker {
namespace {

constexpr std::size_t kFree = 400;

std::uint64_t Word(const char* at) {
  std::uint64_t word = 0;
  std::memcpy(&word, at, sizeof(word));
  return word;
}

// The two sums of XXH3 that the first two words of each stripe go to, and the rest of its end. Texts of
// 241 to 1024 bytes.
struct Forge {
  std::string text;
  std::size_t first = 0, second = 0;  // stripes whose first two words are free

  static const char* Secret() { return reinterpret_cast<const char*>(XXH3_kSecret); }
  static std::uint64_t Key(std::size_t stripe, std::size_t lane) {
    return Word(Secret() + stripe * 8 + lane * 8);
  }
  void Put(std::size_t stripe, std::size_t lane, std::uint64_t word) {
    std::memcpy(text.data() + stripe * 64 + lane * 8, &word, sizeof(word));
  }
  [[nodiscard]] std::array<std::uint64_t, 8> Sums() const {
    std::array<std::uint64_t, 8> sums = {XXH_PRIME32_3, XXH_PRIME64_1, XXH_PRIME64_2,
                                         XXH_PRIME64_3, XXH_PRIME64_4, XXH_PRIME32_2,
                                         XXH_PRIME64_5, XXH_PRIME32_1};
    const auto add = [&](const char* stripe, const char* secret) {
      for (std::size_t lane = 0; lane < 8; ++lane) {
        const std::uint64_t word = Word(stripe + lane * 8);
        const std::uint64_t keyed = word ^ Word(secret + lane * 8);
        sums[lane ^ 1] += word;
        sums[lane] += (keyed & 0xffffffff) * (keyed >> 32);
      }
    };
    for (std::size_t n = 0; n < (text.size() - 1) / 64; ++n) add(&text[n * 64], Secret() + n * 8);
    add(&text[text.size() - 64], Secret() + XXH_SECRET_DEFAULT_SIZE - 64 - 7);
    return sums;
  }
  // Has sum 1 - lane grow by `missing`, through this lane. Half of each word is such that what it is
  // multiplied with is 0.
  void Add(std::size_t lane, std::uint64_t missing) {
    const auto low = static_cast<std::uint32_t>(missing - (Key(first, lane) & 0xffffffff));
    const std::uint64_t rest = missing - (Key(first, lane) & 0xffffffff) -
                               (Key(second, lane) & ~std::uint64_t{0xffffffff}) - low;
    Put(first, lane, (rest & ~std::uint64_t{0xffffffff}) | (Key(first, lane) & 0xffffffff));
    Put(second, lane, (Key(second, lane) & ~std::uint64_t{0xffffffff}) | low);
  }
  // Changes the text to one with this hash.
  void To(std::uint64_t hash) {
    hash ^= hash >> 32;  // the end of XXH3, backwards
    std::uint64_t inverse = 1;
    for (int i = 0; i < 6; ++i) inverse *= 2 - 0x165667919E3779F9ULL * inverse;
    hash *= inverse;
    hash ^= hash >> 37;
    for (const std::size_t lane : {0U, 1U}) {
      Put(first, lane, Key(first, lane));  // adds itself alone
      Put(second, lane, Key(second, lane));
    }
    std::array<std::uint64_t, 8> sums = Sums();
    for (const std::size_t lane : {0U, 1U}) sums[lane ^ 1] -= Key(first, lane) + Key(second, lane);
    const auto secret = [](std::size_t i) { return Word(Secret() + 11 + 8 * i); };
    std::uint64_t others = text.size() * XXH_PRIME64_1;
    for (std::size_t i = 2; i < 8; i += 2) {
      others += XXH3_mul128_fold64(sums[i] ^ secret(i), sums[i + 1] ^ secret(i + 1));
    }
    // The product of the first two is the first, as the second is 1.
    Add(1, ((hash - others) ^ secret(0)) - sums[0]);
    Add(0, (1 ^ secret(1)) - sums[1]);
  }
};

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
    Forge forge{.text = std::string(AsText(PrefixText()))};
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
