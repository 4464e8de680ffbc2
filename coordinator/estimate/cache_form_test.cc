#include "coordinator/estimate/cache_form.h"

#include <gtest/gtest.h>

#include <array>

namespace headrace::coordinator {
namespace {

// A JPEG of 100 kB, 600 kB of pixels, and a resized one of 200 kB.
FormCosts Jpeg(double fetch_s) { return {fetch_s, 100e3, 5e-3, 600e3, 1e-3, 200e3}; }

std::array<CacheForm, 3> All(const FormCosts& costs) {
  const CacheForms forms = FormsOf(costs);
  return {forms.encoded, forms.decoded, forms.prefix};
}

std::string_view Chosen(const FormCosts& costs, double room,
                        std::optional<std::size_t> held = std::nullopt,
                        std::span<const CacheHost> hosts = {}) {
  constexpr double kRows = 1000;
  const auto forms = All(costs);
  return forms[ChooseForm(forms, held, kRows, room, hosts)].name;
}

TEST(CacheForm, SecondsAByteAreWhatDecidesWhereRoomIsScarce) {
  constexpr double kScarce = 50e6;  // half of the encoded bytes
  // Read from a disk in 0.1 ms: the work counts. 6.1 ms in 200 kB beat 0.1 ms in 100 kB.
  EXPECT_EQ(Chosen(Jpeg(0.1e-3), kScarce), "prefix");
  // Read from a far store in 50 ms: 50 ms in 100 kB beat 56 ms in 200 kB.
  EXPECT_EQ(Chosen(Jpeg(50e-3), kScarce), "encoded");
  // No prefix after the pixels.
  FormCosts plain = Jpeg(0.1e-3);
  plain.prefix_s = plain.prefix_bytes = 0;
  EXPECT_EQ(Chosen(plain, kScarce), "decoded");
  EXPECT_DOUBLE_EQ(SecondsPerByte(FormsOf(Jpeg(50e-3)).encoded), 50e-3 / 100e3);
  EXPECT_DOUBLE_EQ(SecondsPerByte({"nothing", 1, 0}), 0);
}

TEST(CacheForm, WhereAllFitsTheMostIsSaved) {
  EXPECT_EQ(Chosen(Jpeg(50e-3), 200e6), "prefix");
  EXPECT_EQ(Chosen(Jpeg(50e-3), 100e6), "encoded");
  // Four hosts need four copies: what fits one host does not fit all.
  EXPECT_EQ(Chosen(Jpeg(50e-3), 200e6, std::nullopt, std::array<CacheHost, 4>{}), "encoded");
  EXPECT_EQ(Chosen(Jpeg(50e-3), 800e6, std::nullopt, std::array<CacheHost, 4>{}), "prefix");
}

// Over a sweep of the room, up and down, the form changes once each way, and later than a fresh choice.
TEST(CacheForm, AHeldFormStaysUntilAnotherSavesMuchMore) {
  const FormCosts costs = Jpeg(10e-3);
  const auto forms = All(costs);
  std::size_t held = 0;
  int changes = 0;
  for (int noise = 0; noise < 200; ++noise) {
    // Around the room at which both save the same, with 10% of noise.
    const double room = 125e6 * (noise % 2 == 0 ? 0.95 : 1.05);
    const std::size_t now = ChooseForm(forms, held, 1000, room, {});
    changes += now != held ? 1 : 0;
    held = now;
  }
  EXPECT_EQ(changes, 0);
  EXPECT_EQ(ChooseForm(forms, 0, 1000, 200e6, {}), 2U) << "16 ms beat 10 ms by more than half";
  EXPECT_EQ(ChooseForm(forms, 2, 1000, 200e6, {}), 2U);
}

}  // namespace
}  // namespace headrace::coordinator
