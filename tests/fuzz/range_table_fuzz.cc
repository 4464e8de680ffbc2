#include <cstdint>
#include <cstdlib>

#include "schemas/wire/range_table.h"

// A range table blob: each row of an accepted one can be read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using headrace::wire::RangeTableView;
  const headrace::Bytes aligned = headrace::CopyBytes(std::as_bytes(std::span(data, size)));
  const auto view = RangeTableView::Open(aligned);
  if (!view.ok()) return 0;
  for (std::int64_t row = 0; row < view->size(); ++row) {
    const RangeTableView::Range range = view->At(row);
    if (range.first + range.size < range.first) std::abort();
    if (view->Shard(range.shard).size() > 2 * size + 1) std::abort();
    if (view->Version(range.shard).size() > size) std::abort();
    (void)view->Label(row);
    if (view->Member(row).has_value() != view->has_members()) std::abort();
  }
  return 0;
}
