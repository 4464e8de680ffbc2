#include <cstdint>
#include <cstdlib>
#include <vector>

#include "schemas/wire/message.h"

// A file table blob: each row of an accepted one can be read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using headrace::wire::FileTableView;
  const headrace::Bytes aligned = headrace::CopyBytes(std::as_bytes(std::span(data, size)));
  const auto view = FileTableView::Open(aligned);
  if (!view.ok()) return 0;
  for (std::int64_t row = 0; row < view->size(); ++row) {
    if (view->Path(row).size() > 2 * size + 1) std::abort();
    (void)view->Label(row);
  }
  return 0;
}
