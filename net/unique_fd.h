#pragma once

#include "base/unique_fd.h"

namespace headrace::net {
using headrace::UniqueFd;
}  // namespace headrace::net
