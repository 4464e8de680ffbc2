#pragma once

#include <cstddef>
#include <map>
#include <string>

namespace headrace::web {

// How many connections a server has, in all and of each address. Not thread-safe.
class ConnectionCounts {
 public:
  // What the server may have.
  ConnectionCounts(std::size_t most, std::size_t most_of_one_address)
      : most_(most), most_of_one_address_(most_of_one_address) {}

  void Began(const std::string& address) {
    ++all_;
    ++of_[address];
  }
  // REQUIRES: one of the address began.
  void Ended(const std::string& address) {
    --all_;
    if (const auto found = of_.find(address); --found->second == 0) of_.erase(found);
  }

  // More than half of what may be is there. Connections should end with their next answer, so that those
  // which idle clients keep leave room for new ones.
  [[nodiscard]] bool Crowded(const std::string& address) const {
    const auto found = of_.find(address);
    const std::size_t of_this = found == of_.end() ? 0 : found->second;
    return 2 * all_ > most_ || 2 * of_this > most_of_one_address_;
  }

 private:
  const std::size_t most_, most_of_one_address_;
  std::size_t all_ = 0;
  std::map<std::string, std::size_t> of_;
};

}  // namespace headrace::web
