#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/buffer.h"
#include "base/result.h"
#include "base/unique_fd.h"
#include "schemas/wire/data.h"

// Functions for what a worker and a stage host exchange besides frames (headrace/stage/wire.py).
namespace headrace::dataworker {

// Makes a request as stage/wire.py's Request reads it.
[[nodiscard]] Bytes StageRequestBytes(const wire::BatchRequest& request, std::uint64_t slot_offset);
// Reads the u64 numbers of a frame's part; drops bytes after the last whole number.
[[nodiscard]] std::vector<std::uint64_t> StageNumbers(ByteSpan bytes);
// Returns the bytes of its slot that a batch with these buffers uses. kUnavailable (WrongAnswer): a
// buffer lies outside.
Result<std::uint64_t> UsedBytes(std::span<const std::uint64_t> offsets,
                                std::span<const std::uint64_t> sizes, std::uint64_t slot_bytes);
[[nodiscard]] Status WrongAnswer();
// Makes an unlinked file in memory with this content, which nobody can change, whoever gets it.
// kResourceExhausted: no memory, no descriptors.
Result<UniqueFd> MemoryFile(const char* name, ByteSpan content);

}  // namespace headrace::dataworker
