#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <set>

#include "gtest/gtest.h"
#include "schemas/wire/golden_messages_internal.h"

// Frozen messages of release 0.1: they must always decode to the same values.
// HEADRACE_WRITE_GOLDEN=1 writes missing files, and never changes an existing one.
namespace headrace::wire {
namespace {

const std::filesystem::path kGolden = HEADRACE_GOLDEN_DIR;

// Reads the frozen bytes; `make` gives what this build would write.
Bytes Frozen(const std::string& name, const std::function<Bytes()>& make) {
  const std::filesystem::path path = kGolden / (name + ".bin");
  if (!std::filesystem::exists(path) && std::getenv("HEADRACE_WRITE_GOLDEN") != nullptr) {
    const Bytes bytes = make();
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(bytes.data()),
               static_cast<std::streamsize>(bytes.size()));
  }
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path << " is missing";
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  return CopyBytes(AsBytes(text));
}

Bytes FrozenMessage(const GoldenMessage& golden) {
  return Frozen(golden.name, [&] {
    const EncodedMessage message = Encode(golden.body);
    Bytes bytes(message.header.size() + message.body.size());
    std::ranges::copy(message.body, std::ranges::copy(message.header, bytes.begin()).out);
    return bytes;
  });
}

Result<Body> DecodeFile(ByteSpan bytes) {
  const std::size_t header = std::min(bytes.size(), kHeaderBytes);
  return Decode(bytes.first(header), bytes.subspan(header));
}

// Calls `read` with each one-byte change and each truncation of `good`.
void Maim(const Bytes& good, const std::function<void(const Bytes&)>& read) {
  for (std::size_t i = 0; i < good.size(); ++i) {
    for (const unsigned flip : {1u, 2u, 4u, 8u, 16u, 32u, 64u, 128u, 255u}) {
      Bytes bad = good;
      bad[i] ^= static_cast<std::byte>(flip);
      read(bad);
    }
    Bytes bad = good;
    bad[i] = std::byte{0};
    read(bad);
    read(Bytes(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(i)));
  }
}

TEST(Golden, ThereIsOneOfEachType) {
  std::set<std::size_t> types;
  for (const GoldenMessage& golden : GoldenMessages()) types.insert(golden.body.index());
  EXPECT_EQ(types.size(), std::variant_size_v<Body> - 1);
  EXPECT_FALSE(types.contains(0));
}

TEST(Golden, FrozenMessagesDecodeToTheirValues) {
  for (const GoldenMessage& golden : GoldenMessages()) {
    const Result<Body> body = DecodeFile(FrozenMessage(golden));
    ASSERT_TRUE(body.ok()) << golden.name << ": " << body.status().ToString();
    EXPECT_TRUE(*body == golden.body) << golden.name;
  }
}

TEST(Golden, FrozenPlanDecodesToItsValues) {
  const auto plan = DecodePlan(Frozen("plan", [] { return EncodePlan(GoldenPlan()); }));
  ASSERT_TRUE(plan.ok()) << plan.status().ToString();
  EXPECT_EQ(*plan, GoldenPlan());
  const auto views = DecodePlan(Frozen("plan_of_views", [] { return EncodePlan(GoldenViews()); }));
  ASSERT_TRUE(views.ok()) << views.status().ToString();
  EXPECT_EQ(*views, GoldenViews());
  const auto pictures =
      DecodePlan(Frozen("plan_of_pictures", [] { return EncodePlan(GoldenPictures()); }));
  ASSERT_TRUE(pictures.ok()) << pictures.status().ToString();
  EXPECT_EQ(*pictures, GoldenPictures());
  const auto lists = DecodePlan(Frozen("plan_of_lists", [] { return EncodePlan(GoldenLists()); }));
  ASSERT_TRUE(lists.ok()) << lists.status().ToString();
  EXPECT_EQ(*lists, GoldenLists());
}

TEST(Golden, FrozenFileTableDecodesToItsValues) {
  const FileTable table = GoldenFileTable();
  const Bytes bytes = Frozen("file_table", [&] { return EncodeFileTable(table); });
  const Result<FileTableView> view = FileTableView::Open(bytes);
  ASSERT_TRUE(view.ok()) << view.status().ToString();
  ASSERT_EQ(view->size(), std::ssize(table.paths));
  for (std::size_t i = 0; i < table.paths.size(); ++i) {
    const std::string path = view->Path(static_cast<std::int64_t>(i));
    EXPECT_TRUE(path.ends_with(table.paths[i])) << path;
    EXPECT_EQ(view->Label(static_cast<std::int64_t>(i)), table.labels[i]);
  }
}

TEST(Golden, MaimedMessagesAreReadSafelyOrRefused) {
  for (const GoldenMessage& golden : GoldenMessages()) {
    SCOPED_TRACE(golden.name);
    Maim(FrozenMessage(golden), [](const Bytes& bad) {
      const Result<Body> body = DecodeFile(bad);
      if (!body.ok()) {
        EXPECT_TRUE(body.status().code() == Code::kInvalidArgument ||
                    body.status().code() == Code::kOtherRelease);
        return;
      }
      // An accepted message is as good as any: it survives the way back.
      const EncodedMessage again = Encode(*body);
      EXPECT_TRUE(Decode(again.header, again.body).ok());
    });
  }
}

TEST(Golden, MaimedPlanIsReadSafelyOrRefused) {
  Maim(Frozen("plan", [] { return EncodePlan(GoldenPlan()); }),
       [](const Bytes& bad) { (void)DecodePlan(bad); });
  Maim(Frozen("plan_of_views", [] { return EncodePlan(GoldenViews()); }), [](const Bytes& bad) {
    const Result<Plan> plan = DecodePlan(bad);
    EXPECT_TRUE(!plan.ok() || CheckGraph(*plan).ok());
  });
  Maim(Frozen("plan_of_lists", [] { return EncodePlan(GoldenLists()); }),
       [](const Bytes& bad) { (void)DecodePlan(bad); });
}

// Found by a fuzzer: the verifier lets it pass, and the structs would be read where none may lie.
TEST(Golden, SpecsThatLieUnalignedAreRefused) {
  std::ifstream file(kGolden / "../../../../tests/fuzz/found/message_fuzz/misaligned_specs",
                     std::ios::binary);
  ASSERT_TRUE(file.good());
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  const auto decoded = DecodeFile(AsBytes(text));
  ASSERT_FALSE(decoded.ok());
  EXPECT_NE(decoded.status().message().find("alignment"), std::string::npos)
      << decoded.status().ToString();
}

}  // namespace
}  // namespace headrace::wire
