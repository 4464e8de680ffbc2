#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headrace::dataworker {

// Identifies a content without its bytes. The source makes it, and nobody else looks into it. Two
// equal identities on one host mean equal bytes.
struct ContentIdentity {
  // What holds the content: a file, an object. Newer content of the same place replaces older.
  std::array<std::uint64_t, 2> place{};
  // The state of the place: every change makes a new one.
  std::array<std::uint64_t, 3> version{};
  friend bool operator==(const ContentIdentity&, const ContentIdentity&) = default;

  // For a place and a version that are text: a URL and an etag, say. They may be a peer's, and nobody can
  // make others with the same identity.
  [[nodiscard]] static ContentIdentity OfText(std::string_view place, std::string_view version);
};

}  // namespace headrace::dataworker
