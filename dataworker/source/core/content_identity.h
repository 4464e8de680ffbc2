#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace headrace::dataworker {

// Where equal identities mean equal bytes.
enum class NameReach : std::uint8_t {
  kHost,        // on one host: a file's device and inode
  kEverywhere,  // on all hosts: an object's URL and version
};

// Identifies a content without its bytes. The source makes it, and nobody else looks into it. Two
// equal identities on one host mean equal bytes; if they hold everywhere, on any hosts. One that holds
// on its host alone never equals one that holds everywhere.
struct ContentIdentity {
  // What holds the content: a file, an object. Newer content of the same place replaces older.
  std::array<std::uint64_t, 2> place{};
  // The state of the place: every change makes a new one.
  std::array<std::uint64_t, 3> version{};
  friend bool operator==(const ContentIdentity&, const ContentIdentity&) = default;

  // For a place and a version that are text: a URL and an etag, say. They may be a peer's, and nobody can
  // make others with the same identity.
  [[nodiscard]] static ContentIdentity OfText(std::string_view place, std::string_view version,
                                              NameReach reach);

  // A bit of the place says it, so it goes wherever the identity goes.
  [[nodiscard]] NameReach reach() const {
    return (place[0] & kEverywhereBit) != 0 ? NameReach::kEverywhere : NameReach::kHost;
  }
  [[nodiscard]] bool holds_everywhere() const { return reach() == NameReach::kEverywhere; }
  // For comparing what several hosts keep, and not for finding it. One file that several hosts have mounted
  // has one inode and one set of times there, and a device number of each host's own: that is left out.
  [[nodiscard]] std::uint64_t HashOverHosts() const;
  void SetReach(NameReach reach) {
    place[0] =
        reach == NameReach::kEverywhere ? place[0] | kEverywhereBit : place[0] & ~kEverywhereBit;
  }

 private:
  static constexpr std::uint64_t kEverywhereBit = std::uint64_t{1} << 63;
};

}  // namespace headrace::dataworker
