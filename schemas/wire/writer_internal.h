#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/buffer.h"
#include "flatbuffers/flatbuffers.h"

// Helpers to build FlatBuffers bodies. Empty strings and vectors are left out.
namespace headrace::wire {

using Builder = flatbuffers::FlatBufferBuilder;
template <typename T>
using VectorOffset = flatbuffers::Offset<flatbuffers::Vector<T>>;

// The calling thread's builder, emptied. Valid until the thread's next call.
[[nodiscard]] Builder& ThreadBuilder();
// Copies the finished body out of the builder.
[[nodiscard]] Bytes TakeBody(Builder& builder);

[[nodiscard]] inline flatbuffers::Offset<flatbuffers::String> WriteText(Builder& b,
                                                                        const std::string& text) {
  return text.empty() ? 0 : b.CreateString(text);
}

[[nodiscard]] inline VectorOffset<flatbuffers::Offset<flatbuffers::String>> WriteTexts(
    Builder& b, const std::vector<std::string>& texts) {
  return texts.empty() ? 0 : b.CreateVectorOfStrings(texts);
}

template <typename T>
[[nodiscard]] VectorOffset<T> WriteScalars(Builder& b, const std::vector<T>& items) {
  return items.empty() ? 0 : b.CreateVector(items.data(), items.size());
}

[[nodiscard]] inline VectorOffset<std::uint8_t> WriteRaw(Builder& b, const Bytes& raw) {
  if (raw.empty()) return 0;
  return b.CreateVector(reinterpret_cast<const std::uint8_t*>(raw.data()), raw.size());
}

template <typename Id>
[[nodiscard]] VectorOffset<std::int64_t> WriteIds(Builder& b, const std::vector<Id>& ids) {
  if (ids.empty()) return 0;
  std::int64_t* out = nullptr;
  const auto offset = b.CreateUninitializedVector<std::int64_t>(ids.size(), &out);
  for (std::size_t i = 0; i < ids.size(); ++i) out[i] = ids[i].value;
  return offset;
}

// Writes a vector of tables, each made by `write_one(item)`.
template <typename Items, typename WriteOne>
[[nodiscard]] auto WriteTables(Builder& b, const Items& items, WriteOne write_one) {
  std::vector<decltype(write_one(*items.begin()))> offsets;
  offsets.reserve(items.size());
  for (const auto& item : items) offsets.push_back(write_one(item));
  using Offset = typename decltype(offsets)::value_type;
  return offsets.empty() ? VectorOffset<Offset>(0) : b.CreateVector(offsets);
}

}  // namespace headrace::wire
