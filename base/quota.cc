#include "base/quota.h"

namespace headrace {

Status Quota::Check(std::uint64_t wanted) const {
  if (wanted <= most) return {};
  return Unsupported(std::to_string(wanted) + " " + std::string(what) + " are over the limit of " +
                     std::to_string(most) + "; whoever runs this may raise it with " +
                     std::string(option));
}

}  // namespace headrace
