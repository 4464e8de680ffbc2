#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "dataworker/cache/memory/memory_cache.h"
#include "dataworker/neighbours/neighbour_words.h"
#include "dataworker/session/leaf_shelf.h"
#include "dataworker/stage/stage_request.h"

// What a process of this user says that stands where a neighbour's socket is: a packet, and the rows of an index.
// Whatever is taken for a packet is what would be sent for it, and rows that are taken are told to lanes under that
// neighbour's id alone.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace headrace::dataworker;
  const auto bytes = std::as_bytes(std::span(data, size));
  NeighbourGround ground{};  // as the packet says, so that what follows is looked at
  if (size >= sizeof(NeighbourPacket)) std::memcpy(ground.data(), data + 8, sizeof(ground));
  if (const auto ask = ReadNeighbourAsk(ground, bytes); ask.ok()) {
    if (!std::ranges::equal(PacketOf(ground, *ask), bytes)) std::abort();
  }
  if (const auto told = ReadNeighbourTold(ground, bytes); told.ok()) {
    if (!std::ranges::equal(PacketOf(ground, *told), bytes)) std::abort();
  }
  if (size == 0 || !LeafShelf::IsIndex(bytes)) return 0;
  std::vector<SampleStore::Tier> tiers;
  tiers.push_back({"memory", MakeMemoryCache(1 << 20)});
  LeafShelf shelf(std::make_shared<SampleStore>(std::move(tiers)));
  auto file = MemoryFile("fuzz", bytes);
  if (!file.ok()) std::abort();
  auto index = SealedMemory::Take(std::move(file).value(), size);
  if (!index.ok()) std::abort();
  shelf.SetNeighbours({{5, *index}}, 1);
  const auto told = shelf.Index({});
  if (!told.ok() || told->bytes != size) std::abort();
  std::vector<LeafShelf::FullRow> rows(size / sizeof(LeafShelf::FullRow));
  if (::pread(told->memory.get(), rows.data(), size, 0) != static_cast<ssize_t>(size)) std::abort();
  for (const LeafShelf::FullRow& row : rows) {
    if (LeafShelf::PlaceOf(row[8]).neighbour != 5) std::abort();
  }
  return 0;
}
