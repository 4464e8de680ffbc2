#include "schemas/wire/random_values_internal.h"

namespace headrace::wire {

std::uint64_t RandomValues::Number() {
  switch (Below(4)) {
    case 0:
      return Below(3);
    case 1:
      return ~std::uint64_t{0} - Below(3);
    default:
      return engine_() >> Below(64);
  }
}

std::int32_t RandomValues::Count() { return static_cast<std::int32_t>(Number() & 0x7fffffff); }

double RandomValues::Real() {
  switch (Below(4)) {
    case 0:
      return -0.0;
    case 1:
      return 0.0;
    case 2:
      return 1e300;
    default:
      return static_cast<double>(Signed()) / 3.0;
  }
}

std::string RandomValues::Text() {
  std::string text(Below(12), ' ');
  for (char& c : text)
    c = static_cast<char>(Below(256));  // paths are bytes, also zero and non-UTF-8
  return text;
}

Bytes RandomValues::Raw() {
  Bytes raw(Below(40));
  for (std::byte& b : raw) b = static_cast<std::byte>(Below(256));
  return raw;
}

Status RandomValues::AStatus() {
  if (Coin()) return {};
  return {Below(8) == 0 ? Code::kUnknown : static_cast<Code>(1 + Below(11)), Text(), ADetail()};
}

Detail RandomValues::ADetail() {
  return Below(8) == 0 ? Detail::kUnknown : static_cast<Detail>(Below(15));
}

HostIdentity RandomValues::Host() {
  return {.hostname = Text(), .boot_id = Text(), .uid = Number32(), .pid = Signed()};
}

std::vector<TierBytes> RandomValues::TierBytesList() {
  return Some([this] { return TierBytes{.tier = Text(), .bytes = Number()}; });
}
std::vector<TierUse> RandomValues::TierUseList() {
  return Some([this] {
    return TierUse{.tier = Text(),
                   .bytes = Number(),
                   .entries = Number(),
                   .hits = Number(),
                   .misses = Number()};
  });
}
std::vector<TierHits> RandomValues::TierHitsList() {
  return Some([this] {
    return TierHits{.tier = Text(), .decoded = Number(), .encoded = Number(), .cpu_ns = Number()};
  });
}

JobGrant RandomValues::Grant() {
  const auto peers = [this] {
    return Some([this] {
      return CachePeer{
          .worker = AnId<WorkerId>(), .endpoint = Text(), .cache_bytes = Number(), .pass = Text()};
    });
  };
  return {.job = AnId<JobId>(),
          .millicores = Number32(),
          .cache_bytes = Number(),
          .source_bytes_per_second = Number(),
          .tiers = TierBytesList(),
          .peers = peers(),
          .cache_encoded = Coin(),
          .wide = Coin(),
          .wide_peers = peers(),
          .data_set = Number(),
          .cache_nodes = static_cast<std::int32_t>(Below(100)),
          .replicas = Coin(),
          .idle = Coin()};
}

ArgValue RandomValues::Arg() {
  switch (Below(6)) {
    case 0:
      return Signed();
    case 1:
      return Real();
    case 2:
      return Text();
    case 3:
      return Some([this] { return Signed(); });
    case 4:
      return Some([this] { return Real(); });
    default:
      return Raw();
  }
}

}  // namespace headrace::wire
