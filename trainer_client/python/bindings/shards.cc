#include "trainer_client/python/bindings/shards.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "schemas/wire/range_table.h"
#include "trainer_client/python/bindings/blob.h"
#include "trainer_client/python/bindings/errors.h"
#include "trainer_client/shards/tar_scan.h"
#include "trainer_client/shards/zip_scan.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

using client::SampleRules;
using client::TarSamples;
using client::TarScan;
using client::ZipRules;
using client::ZipSamples;
using client::ZipScan;

template <typename T>
nb::bytes BytesOf(const T& items) {
  return nb::bytes(items.data(), items.size() * sizeof(*items.data()));
}

template <typename Scan>
nb::object Wants(const Scan& scan) {
  const auto want = scan.wants();
  return want ? nb::object(nb::make_tuple(want->first, want->bytes)) : nb::none();
}

template <typename Scan>
void Take(Scan& scan, nb::handle bytes) {
  const Blob held = BlobOfBuffer(bytes);
  Check(scan.Take(held.data));
}

// Arrays as bytes, by name.
nb::dict Samples(const TarScan& scan) {
  if (scan.wants()) Raise(InvalidArgument("the tar is not at its end"));
  const TarSamples& samples = scan.samples();
  nb::dict made;
  made["keys"] = BytesOf(samples.keys);
  made["key_ends"] = BytesOf(samples.key_ends);
  made["firsts"] = BytesOf(samples.firsts);
  made["sizes"] = BytesOf(samples.sizes);
  made["target_firsts"] = BytesOf(samples.target_firsts);
  made["target_sizes"] = BytesOf(samples.target_sizes);
  made["targets"] = BytesOf(samples.targets);
  made["kept"] = BytesOf(samples.kept);
  made["kept_ends"] = BytesOf(samples.kept_ends);
  return made;
}

nb::dict Members(const ZipScan& scan) {
  if (scan.wants()) Raise(InvalidArgument("the zip's directory is not at its end"));
  const ZipSamples& samples = scan.samples();
  nb::dict made;
  made["keys"] = BytesOf(samples.keys);
  made["key_ends"] = BytesOf(samples.key_ends);
  made["firsts"] = BytesOf(samples.firsts);
  made["sizes"] = BytesOf(samples.sizes);
  made["members"] = BytesOf(samples.members);
  return made;
}

template <typename T>
std::span<const T> ItemsIn(const Blob& blob) {
  if (blob.data.size() % sizeof(T) != 0 ||
      reinterpret_cast<std::uintptr_t>(blob.data.data()) % alignof(T) != 0) {
    Raise(InvalidArgument("a buffer of another type"));
  }
  return {reinterpret_cast<const T*>(blob.data.data()), blob.data.size() / sizeof(T)};
}

struct PackedTexts {
  std::string pool;
  std::vector<std::uint32_t> ends;
  explicit PackedTexts(const std::vector<std::string>& texts) {
    for (const std::string& text : texts) {
      pool += text;
      ends.push_back(static_cast<std::uint32_t>(pool.size()));
    }
  }
};

BlobObject EncodeRangeTable(const std::string& root, const std::vector<std::string>& shards,
                            const std::vector<std::string>& versions, nb::handle row_ends,
                            nb::handle firsts, nb::handle sizes, nb::handle labels,
                            nb::handle members) {
  const Blob held[] = {BlobOfBuffer(row_ends), BlobOfBuffer(firsts), BlobOfBuffer(sizes),
                       BlobOfBuffer(labels), BlobOfBuffer(members)};
  const PackedTexts names(shards), states(versions);
  return BlobOfBytes(Check(wire::EncodeRangeTable({.root = root,
                                                   .shard_pool = names.pool,
                                                   .shard_ends = names.ends,
                                                   .version_pool = states.pool,
                                                   .version_ends = states.ends,
                                                   .row_ends = ItemsIn<std::uint64_t>(held[0]),
                                                   .firsts = ItemsIn<std::uint64_t>(held[1]),
                                                   .sizes = ItemsIn<std::uint32_t>(held[2]),
                                                   .labels = ItemsIn<std::int64_t>(held[3]),
                                                   .members = ItemsIn<wire::ZipMember>(held[4])})));
}

}  // namespace

void AddShards(nb::module_& module) {
  nb::class_<TarScan>(module, "TarScan", nb::is_final())
      .def(
          "__init__",
          [](TarScan* self, std::uint64_t size, std::vector<std::string> images,
             std::vector<std::string> targets, std::string kept) {
            new (self)
                TarScan(size, SampleRules{std::move(images), std::move(targets), std::move(kept)});
          },
          nb::arg("size"), nb::arg("images"), nb::arg("targets"), nb::arg("kept"))
      .def("wants", &Wants<TarScan>)
      .def("take", &Take<TarScan>, nb::arg("bytes"))
      .def("samples", &Samples);
  nb::class_<ZipScan>(module, "ZipScan", nb::is_final())
      .def(
          "__init__",
          [](ZipScan* self, std::uint64_t size, std::vector<std::string> images, std::string folder,
             bool by_class) {
            new (self) ZipScan(size, ZipRules{std::move(images), std::move(folder), by_class});
          },
          nb::arg("size"), nb::arg("images"), nb::arg("folder"), nb::arg("by_class"))
      .def("wants", &Wants<ZipScan>)
      .def("take", &Take<ZipScan>, nb::arg("bytes"))
      .def("samples", &Members);
  module.def("encode_range_table", &EncodeRangeTable, nb::arg("root"), nb::arg("shards"),
             nb::arg("versions"), nb::arg("row_ends"), nb::arg("firsts"), nb::arg("sizes"),
             nb::arg("labels"), nb::arg("members"));
}

}  // namespace headrace::python
