#include "trainer_client/python/bindings/objects.h"

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "remote/object_client.h"
#include "schemas/wire/message.h"
#include "trainer_client/python/bindings/blob.h"
#include "trainer_client/python/bindings/errors.h"

namespace nb = nanobind;

namespace headrace::python {
namespace {

using remote::ObjectAnswer;
using remote::ObjectRequest;
using What = ObjectRequest::What;

// Until the signals of the interpreter are looked at again.
constexpr auto kSlice = std::chrono::milliseconds(100);
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr std::uint64_t kMostText = std::uint64_t{64} << 20;

// Reads the objects below one base, for the trainer itself. Thread-safe. Of one process: a fork makes
// its own.
class ObjectReader {
 public:
  ObjectReader(std::string base, std::string endpoint, std::string region, std::string addressing,
               bool anonymous) {
    const bool is_named = !endpoint.empty() || base.starts_with("http");
    remote::StoreSpec spec{.base = std::move(base),
                           .endpoint = std::move(endpoint),
                           .region = std::move(region),
                           .addressing = std::move(addressing),
                           .anonymous = anonymous};
    store_ = std::make_shared<const remote::Store>(Check(remote::Store::Make(spec)));
    // The program names the store, and runs with its user's rights. A redirect names others. AWS and GCS
    // need no such word.
    std::vector<std::string> allowed;
    if (is_named) {
      const remote::ObjectUrl url =
          store_->s3() ? store_->BucketUrl("") : Check(store_->UrlOf(store_->base()));
      allowed.push_back(std::string(url.tls ? "https://" : "http://").append(url.Authority()));
    }
    client_ =
        std::make_unique<remote::ObjectClient>(Check(remote::OptionsOfProcess(std::move(allowed))));
  }

  [[nodiscard]] const std::string& base() const { return store_->base(); }
  nb::bytes Read(const std::string& name) {
    return Ask({.store = store_,
                .url = Check(store_->UrlOf(name)),
                .what = What::kWhole,
                .bytes = kMostBytes});
  }
  // The bytes from `first` on, fewer at the object's end; the whole's size, and its version. Which
  // version is meant, a worker wants to know, which keeps ranges; this reader keeps none.
  nb::tuple ReadRange(const std::string& name, std::uint64_t first, std::uint64_t bytes,
                      const std::string& /*version*/, std::uint64_t /*size*/) {
    if (bytes == 0 || bytes > kMostBytes)
      Raise(InvalidArgument("a range of too many bytes, or none"));
    const ObjectAnswer answer = Wait({.store = store_,
                                      .url = Check(store_->UrlOf(name)),
                                      .what = What::kRange,
                                      .bytes = bytes,
                                      .first = first});
    return nb::make_tuple(nb::bytes(answer.bytes.data(), answer.bytes.size()), answer.size,
                          answer.version);
  }
  // Its size and version; an empty one: the store tells none.
  nb::tuple Look(const std::string& name) {
    const ObjectAnswer answer =
        Wait({.store = store_, .url = Check(store_->UrlOf(name)), .what = What::kHead});
    return nb::make_tuple(answer.size, answer.version);
  }
  nb::bytes List(std::string query) {
    if (!store_->s3()) Raise(InvalidArgument(store_->base() + " is no bucket"));
    return Ask({.store = store_,
                .url = store_->BucketUrl(std::move(query)),
                .what = What::kText,
                .bytes = kMostText});
  }

 private:
  struct Waiting {
    std::mutex mutex;
    std::condition_variable changed;
    std::optional<ObjectAnswer> answer;
  };

  nb::bytes Ask(ObjectRequest request) {
    const ObjectAnswer answer = Wait(std::move(request));
    return nb::bytes(answer.bytes.data(), answer.bytes.size());
  }
  ObjectAnswer Wait(ObjectRequest request) {
    const auto waiting = std::make_shared<Waiting>();
    client_->Begin(std::move(request), [waiting](ObjectAnswer answer) {
      const std::lock_guard lock(waiting->mutex);
      waiting->answer = std::move(answer);
      waiting->changed.notify_all();
    });
    for (;;) {
      {
        const nb::gil_scoped_release unlocked;
        std::unique_lock lock(waiting->mutex);
        waiting->changed.wait_for(lock, kSlice, [&] { return waiting->answer.has_value(); });
        if (waiting->answer) break;
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    Check(waiting->answer->status);
    return *std::move(waiting->answer);
  }

  std::shared_ptr<const remote::Store> store_;
  std::unique_ptr<remote::ObjectClient> client_;
};

template <typename T>
std::span<const T> ItemsOf(const Blob& blob) {
  if (blob.data.size() % sizeof(T) != 0) Raise(InvalidArgument("a buffer of another type"));
  return {reinterpret_cast<const T*>(blob.data.data()), blob.data.size() / sizeof(T)};
}

BlobObject EncodePackedFileTable(const std::string& root, nb::handle pool, nb::handle ends,
                                 nb::handle labels) {
  const Blob held[] = {BlobOfBuffer(pool), BlobOfBuffer(ends), BlobOfBuffer(labels)};
  const wire::PackedPaths paths{.pool = AsText(held[0].data),
                                .ends = ItemsOf<std::uint32_t>(held[1]),
                                .labels = ItemsOf<std::int64_t>(held[2])};
  std::uint32_t last = 0;
  bool ordered = paths.ends.size() == paths.labels.size() &&
                 wire::FileTableFits(paths.ends.size(), paths.pool.size());
  for (const std::uint32_t end : paths.ends) {
    ordered = ordered && last <= end;
    last = end;
  }
  if (!ordered || last != paths.pool.size()) {
    Raise(InvalidArgument("packed names that do not fit each other"));
  }
  return BlobOfBytes(wire::EncodeFileTable(root, paths));
}

}  // namespace

void AddObjects(nb::module_& module) {
  nb::class_<ObjectReader>(module, "ObjectReader", nb::is_final())
      .def(nb::init<std::string, std::string, std::string, std::string, bool>(), nb::arg("base"),
           nb::arg("endpoint") = "", nb::arg("region") = "", nb::arg("addressing") = "",
           nb::arg("anonymous") = false)
      .def_prop_ro("base", &ObjectReader::base)
      .def("read", &ObjectReader::Read, nb::arg("name"))
      .def("read_range", &ObjectReader::ReadRange, nb::arg("name"), nb::arg("first"),
           nb::arg("bytes"), nb::arg("version") = "", nb::arg("size") = 0)
      .def("look", &ObjectReader::Look, nb::arg("name"))
      .def("list", &ObjectReader::List, nb::arg("query"));
  module.def("encode_packed_file_table", &EncodePackedFileTable, nb::arg("root"), nb::arg("pool"),
             nb::arg("ends"), nb::arg("labels"));
}

}  // namespace headrace::python
