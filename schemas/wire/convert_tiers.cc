#include "schemas/wire/convert_internal.h"

// Lists of cache tiers.
namespace headrace::wire {
namespace {

template <typename Table>
bool MayBe(Reader& r, const flatbuffers::Vector<Offset<Table>>* tables) {
  if (tables == nullptr) return false;
  r.Require(tables->size() <= kMostTiers, "cache tiers");
  return tables->size() <= kMostTiers;
}

}  // namespace

TierTables<fb::TierBytes> WriteTiers(Builder& b, const std::vector<TierBytes>& tiers) {
  return WriteTables(b, tiers, [&b](const TierBytes& v) {
    return fb::CreateTierBytes(b, WriteText(b, v.tier), v.bytes);
  });
}

TierTables<fb::TierUse> WriteTiers(Builder& b, const std::vector<TierUse>& tiers) {
  return WriteTables(b, tiers, [&b](const TierUse& v) {
    return fb::CreateTierUse(b, WriteText(b, v.tier), v.bytes, v.entries, v.hits, v.misses);
  });
}

TierTables<fb::TierHits> WriteTiers(Builder& b, const std::vector<TierHits>& tiers) {
  return WriteTables(b, tiers, [&b](const TierHits& v) {
    return fb::CreateTierHits(b, WriteText(b, v.tier), v.decoded, v.encoded, v.cpu_ns);
  });
}

std::vector<TierBytes> ReadTiers(Reader& r, const TierVector<fb::TierBytes>* tables) {
  std::vector<TierBytes> out;
  if (!MayBe(r, tables)) return out;
  for (const fb::TierBytes* v : *tables) {
    out.push_back({.tier = r.Text(v->tier()), .bytes = v->bytes()});
  }
  return out;
}

std::vector<TierUse> ReadTiers(Reader& r, const TierVector<fb::TierUse>* tables) {
  std::vector<TierUse> out;
  if (!MayBe(r, tables)) return out;
  for (const fb::TierUse* v : *tables) {
    out.push_back({.tier = r.Text(v->tier()),
                   .bytes = v->bytes(),
                   .entries = v->entries(),
                   .hits = v->hits(),
                   .misses = v->misses()});
  }
  return out;
}

std::vector<TierHits> ReadTiers(Reader& r, const TierVector<fb::TierHits>* tables) {
  std::vector<TierHits> out;
  if (!MayBe(r, tables)) return out;
  for (const fb::TierHits* v : *tables) {
    out.push_back({.tier = r.Text(v->tier()),
                   .decoded = v->decoded(),
                   .encoded = v->encoded(),
                   .cpu_ns = v->cpu_ns()});
  }
  return out;
}

}  // namespace headrace::wire
