#include "trainer_client/session/finish_payload.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <utility>

#include "schemas/wire/field_layout.h"
#include "trainer_client/session/batch_result.h"

namespace headrace::client {
namespace {

// The bytes of a payload in order. Reading moves on.
class PayloadReader {
 public:
  explicit PayloadReader(const std::vector<ByteSpan>& frames) : frames_(frames) {}

  // REQUIRES: not past the end.
  void Seek(std::uint64_t offset) {
    frame_ = 0;
    while (frame_ < frames_.size() && offset >= frames_[frame_].size()) {
      offset -= frames_[frame_++].size();
    }
    at_ = offset;
  }
  // Calls take(piece) for the next `bytes`, piece by piece. REQUIRES: they are there.
  template <typename Take>
  void Read(std::uint64_t bytes, Take take) {
    while (bytes > 0) {
      const ByteSpan frame = frames_[frame_];
      const ByteSpan piece = frame.subspan(at_, std::min<std::uint64_t>(bytes, frame.size() - at_));
      if (!piece.empty()) take(piece);
      bytes -= piece.size();
      at_ += piece.size();
      if (at_ == frame.size()) {
        ++frame_;
        at_ = 0;
      }
    }
  }

 private:
  const std::vector<ByteSpan>& frames_;
  std::size_t frame_ = 0;
  std::uint64_t at_ = 0;
};

// The number of elements. CheckAnswer has found that it is possible.
std::uint64_t ElementsOf(const wire::FieldLayout& field) {
  std::uint64_t elements = 1;
  for (const std::int64_t side : field.shape) elements *= static_cast<std::uint64_t>(side);
  return elements;
}

// What the fields are when they are finished, each 64-aligned in the slot.
Result<std::vector<wire::FieldLayout>> FinishedFields(const Plan& plan,
                                                      const ops::Finisher& finisher,
                                                      const std::vector<wire::FieldLayout>& fields,
                                                      std::uint64_t slot_bytes,
                                                      std::uint64_t* used_bytes) {
  std::vector<wire::FieldLayout> finished;
  std::uint64_t end = 0;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    wire::FieldLayout field = fields[i];
    if (plan.fields[i].kind != FieldSpec::Kind::kArray) {
      if (field.dtype != DType::kU8 || field.shape.size() != 4 ||
          field.shape[1] != finisher.channels()) {
        return DataLoss("a field before its tail that is no batch of uint8 images with " +
                        std::to_string(finisher.channels()) + " channels");
      }
      field.dtype = finisher.dtype();
    }
    std::uint64_t bytes = 0;
    if (__builtin_mul_overflow(ElementsOf(field), DTypeBytes(field.dtype), &bytes) ||
        end > slot_bytes || bytes > slot_bytes - end) {
      return DataLoss("a batch that is larger than its slot of " + std::to_string(slot_bytes) +
                      " bytes when it is finished");
    }
    field.offset = end;
    *used_bytes = end + bytes;
    end = wire::AlignField(*used_bytes);
    finished.push_back(std::move(field));
  }
  return finished;
}

}  // namespace

Status FinishPayload(const Plan& plan, const ops::Finisher& finisher,
                     const std::vector<ByteSpan>& payload, MutableByteSpan slot,
                     wire::BatchDone& done) {
  if (done.fields.empty()) return CopyPayload(payload, done.used_bytes, slot);  // failures alone
  HR_RETURN_IF_ERROR(CheckPayload(payload, done.used_bytes));
  std::uint64_t used_bytes = 0;
  HR_TRY(std::vector<wire::FieldLayout> finished,
         FinishedFields(plan, finisher, done.fields, slot.size(), &used_bytes));
  const std::size_t element = DTypeBytes(finisher.dtype());
  PayloadReader reader(payload);
  for (std::size_t i = 0; i < finished.size(); ++i) {
    const wire::FieldLayout& field = finished[i];
    std::byte* to = slot.data() + field.offset;
    reader.Seek(done.fields[i].offset);
    if (plan.fields[i].kind == FieldSpec::Kind::kArray) {
      reader.Read(ElementsOf(field) * DTypeBytes(field.dtype), [&](ByteSpan piece) {
        std::memcpy(to, piece.data(), piece.size());
        to += piece.size();
      });
      continue;
    }
    const auto plane = static_cast<std::uint64_t>(field.shape[2] * field.shape[3]);
    for (std::int64_t sample = 0; sample < field.shape[0]; ++sample) {
      for (int channel = 0; channel < finisher.channels(); ++channel) {
        reader.Read(plane, [&](ByteSpan piece) {
          finisher.Finish(channel, piece, {to, piece.size() * element});
          to += piece.size() * element;
        });
      }
    }
  }
  done.fields = std::move(finished);
  done.used_bytes = used_bytes;
  return Status::Ok();
}

}  // namespace headrace::client
