#include "dataworker/source/core/content_identity.h"

#include <algorithm>

#include "base/hash.h"
#include "base/pass/digest.h"

namespace headrace::dataworker {

ContentIdentity ContentIdentity::OfText(std::string_view place, std::string_view version,
                                        NameReach reach) {
  const ByteSpan place_bytes = AsBytes(place), version_bytes = AsBytes(version);
  const Digest of_place = DigestOf(std::span(&place_bytes, 1));
  const Digest of_version = DigestOf(std::span(&version_bytes, 1));
  ContentIdentity made;
  std::copy_n(of_place.begin(), made.place.size(), made.place.begin());
  std::copy_n(of_version.begin(), made.version.size(), made.version.begin());
  made.SetReach(reach);
  return made;
}

std::uint64_t ContentIdentity::HashOverHosts() const {
  // Device numbers of Linux have 32 bits. Other places are digests.
  const bool is_device = (place[0] >> 32) == 0;
  std::uint64_t hash = 0;
  for (const std::uint64_t word :
       {is_device ? 0 : place[0], place[1], version[0], version[1], version[2]}) {
    hash = MixBits(hash ^ word);
  }
  return hash;
}

}  // namespace headrace::dataworker
