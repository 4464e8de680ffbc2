#include "schemas/wire/reader_internal.h"

namespace headrace::wire {

Status Reader::status() const {
  return failed_ ? InvalidArgument("bad field: " + complaint_) : Status::Ok();
}

void Reader::Fail(std::string_view what) {
  if (failed_) return;
  failed_ = true;
  complaint_ = what;
}

bool Reader::Charge(std::size_t bytes) {
  if (failed_ || bytes > budget_) {
    Fail("more content than bytes");
    return false;
  }
  budget_ -= bytes;
  return true;
}

std::string Reader::Text(const flatbuffers::String* text) {
  if (text == nullptr || !Charge(text->size())) return {};
  return text->str();
}

std::vector<std::string> Reader::Texts(
    const flatbuffers::Vector<flatbuffers::Offset<flatbuffers::String>>* texts) {
  std::vector<std::string> out;
  // Four bytes for the offset, four for the length: an honest string takes more than eight.
  if (texts == nullptr || !Charge(texts->size() * std::size_t{8})) return out;
  out.reserve(texts->size());
  for (const flatbuffers::String* text : *texts) out.push_back(Text(text));
  return out;
}

Bytes Reader::Raw(const flatbuffers::Vector<std::uint8_t>* raw) {
  if (raw == nullptr || !Charge(raw->size())) return {};
  return CopyBytes(std::as_bytes(std::span(raw->Data(), raw->size())));
}

}  // namespace headrace::wire
