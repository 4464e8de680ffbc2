#pragma once

#include <cstddef>
#include <cstdint>

#include "base/buffer.h"
#include "base/result.h"
#include "dataworker/source/core/source.h"
#include "schemas/wire/range_table.h"

// Members of zips, stored or deflated. A range begins with the member's local header: only that says
// where the packed bytes begin, and to look it up when a zip is listed would take a read each. Pure.
namespace headrace::dataworker {

// The sample in the bytes of a whole range. They lie in `out`, which is no larger than the member says,
// or in `range`, where the member is stored. kDataLoss: it is damaged, or no such member. kUnsupported:
// larger than Source::kMaxEncodedBytes, or packed otherwise.
[[nodiscard]] Result<ByteSpan> UnpackMember(ByteSpan range, const wire::ZipMember& member,
                                            ScratchBuffer& out);

// What the first bytes of a range tell of the sample's first bytes: `most` at most. Errors as above;
// damage that only the whole member shows is not seen.
[[nodiscard]] Result<ByteSpan> UnpackHead(ByteSpan head, const wire::ZipMember& member,
                                          std::size_t most, ScratchBuffer& out);

// Has a sample's bytes be the sample, wherever they were a member of a zip; memory as above. The error names
// the row.
Status UnpackSample(const Source& source, std::int64_t row, SourceSample& sample,
                    ScratchBuffer& out);

}  // namespace headrace::dataworker
