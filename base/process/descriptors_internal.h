#pragma once

#include <sys/types.h>

namespace headrace {

// Gives a program that was just started the limit that this process had before it raised its own.
void KeepDescriptorLimitOf(pid_t child);

}  // namespace headrace
