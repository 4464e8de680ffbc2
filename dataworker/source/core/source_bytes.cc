#include "dataworker/source/core/source_bytes.h"

namespace headrace::dataworker {
namespace {

thread_local std::uint64_t bytes_of_this_thread = 0;

}  // namespace

std::uint64_t SourceBytesOfThisThread() { return bytes_of_this_thread; }

void CountSourceBytes(std::uint64_t bytes) { bytes_of_this_thread += bytes; }

}  // namespace headrace::dataworker
