#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "schemas/wire/control.h"

namespace headrace::cli {

// What `headrace top` shows in a terminal of some size, and what its keys do. Pure; it makes text.
class TopScreen {
 public:
  struct Size {
    std::size_t columns = 80, rows = 24;
  };

  // False: it is to end. Others are: tab (jobs or workers), s and S (the column that orders, forth and back), r (the
  // other way round), space and b (pages), g (the first page). What is no key changes nothing.
  bool Key(char key);

  // Lines of at most `size.columns` characters, `size.rows` of them at most, without control characters but line
  // breaks. `before`: the answer before, for rates; may be null.
  [[nodiscard]] std::string Paint(const std::string& address, const wire::ClusterStatus& now,
                                  const wire::ClusterStatus* before, Size size);

 private:
  bool workers_ = false;
  std::size_t order_[2] = {5, 0};  // columns of jobs, of workers
  bool down_[2] = {true, false};
  std::size_t page_ = 0;
};

// What was typed, without the sequences that arrows and other keys send, whose last characters are keys of ours.
[[nodiscard]] std::string KeysIn(std::string_view typed);

// How many digits all ids begin with that need not be shown: at least three others are left, and ids differ in
// those. Ids of a coordinator without a journal have eleven digits.
[[nodiscard]] std::size_t CommonDigits(const std::vector<std::int64_t>& ids);

}  // namespace headrace::cli
