#include "ops/vision/jpeg/jpeg_markers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace headrace::ops {
namespace {

std::string U16(int value, bool little) {
  const std::string big{static_cast<char>(value >> 8), static_cast<char>(value & 255)};
  return little ? std::string(big.rbegin(), big.rend()) : big;
}

struct Entry {
  int tag = 0x0112, type = 3, value = 1;
};

// TIFF data with one directory.
std::string Tiff(bool little, const std::vector<Entry>& entries) {
  const std::string none(2, '\0');
  std::string tiff = little ? std::string("II*\0\x08\0\0\0", 8) : std::string("MM\0*\0\0\0\x08", 8);
  tiff += U16(static_cast<int>(entries.size()), little);
  for (const Entry& entry : entries) {
    tiff += U16(entry.tag, little) + U16(entry.type, little);
    tiff += little ? U16(1, true) + none : none + U16(1, false);
    tiff += U16(entry.value, little) + none;
  }
  return tiff;
}

int Orientation(const std::string& tiff) { return ExifOrientation(AsBytes(tiff)); }

TEST(ExifOrientation, InBothByteOrders) {
  for (const bool little : {false, true}) {
    EXPECT_EQ(Orientation(Tiff(little, {})), 0);
    EXPECT_EQ(Orientation(Tiff(little, {{.tag = 0x010F, .type = 2}})), 0);
    for (int value = 1; value <= 8; ++value) {
      const Entry turn{.value = value};
      EXPECT_EQ(Orientation(Tiff(little, {{.tag = 0x010F, .type = 2}, turn})), value);
    }
  }
}

TEST(ExifOrientation, WhatReadersTakeInTheirOwnWaysIsUnclear) {
  for (const bool little : {false, true}) {
    EXPECT_EQ(Orientation(Tiff(little, {{.value = 0}})), kUnclear);
    EXPECT_EQ(Orientation(Tiff(little, {{.value = 9}})), kUnclear);
    EXPECT_EQ(Orientation(Tiff(little, {{.type = 4}})), kUnclear);
    EXPECT_EQ(Orientation(Tiff(little, {{.value = 1}, {.value = 6}})), kUnclear);
    const std::string whole = Tiff(little, {{.tag = 0x010F, .type = 2}, {.value = 6}});
    for (std::size_t size = 0; size < whole.size(); ++size) {
      EXPECT_EQ(Orientation(whole.substr(0, size)), kUnclear) << size;
    }
  }
  EXPECT_EQ(Orientation("II*!" + Tiff(true, {}).substr(4)), kUnclear);
  EXPECT_EQ(Orientation("XX" + Tiff(false, {}).substr(2)), kUnclear);
}

std::string App1(const std::string& content) {
  return "\xFF\xE1" + U16(static_cast<int>(content.size()) + 2, false) + content;
}

JpegMarkers Walk(const std::string& segments) {
  const std::string frame("\xFF\xC0\0\x11\x08\0\x04\0\x05\x03\x01\x22\0\x02\x11\0\x03\x12\0", 19);
  const std::string scan("\xFF\xDA\0\x02", 4);
  const auto markers = WalkJpegMarkers(AsBytes("\xFF\xD8" + segments + frame + scan));
  EXPECT_TRUE(markers.ok()) << markers.status().ToString();
  return markers.ok() ? *markers : JpegMarkers{};
}

TEST(JpegMarkers, SamplingAndOrientation) {
  EXPECT_EQ(Walk("").sampling, 0x221112U);
  EXPECT_EQ(Walk("").orientation, 0);
  const std::string exif = App1(std::string("Exif\0\0", 6) + Tiff(true, {{.value = 6}}));
  const std::string xmp = App1(std::string("http://ns.adobe.com/xap/1.0/\0<x/>", 33));
  EXPECT_EQ(Walk(exif).orientation, 6);
  EXPECT_EQ(Walk(xmp).orientation, 0);
  EXPECT_EQ(Walk(xmp + exif).orientation, 6);
  EXPECT_EQ(Walk(exif + xmp).orientation, 6);
  const std::string other = App1("anything else");
  EXPECT_EQ(Walk(other + exif).orientation, kUnclear);
  EXPECT_EQ(Walk(exif + other).orientation, kUnclear);
}

}  // namespace
}  // namespace headrace::ops
