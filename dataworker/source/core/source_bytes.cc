#include "dataworker/source/core/source_bytes.h"

namespace headrace::dataworker {
namespace {

thread_local std::uint64_t bytes_read = 0;

}  // namespace

std::uint64_t SourceBytesOfThisThread() { return bytes_read; }

void CountSourceBytes(std::uint64_t bytes) { bytes_read += bytes; }

}  // namespace headrace::dataworker
