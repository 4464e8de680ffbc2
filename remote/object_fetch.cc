#include "remote/object_fetch.h"

#include <algorithm>
#include <cstring>

namespace headrace::remote {
namespace {

using Failure = Outcome::Failure;
using What = ObjectRequest::What;

}  // namespace

std::string ObjectFetch::RangeOf(const Part& part) {
  if (part.asks_why) return "bytes=0-0";
  if (!part.has_range || part.asks_size) return {};
  return "bytes=" + std::to_string(part.range.first) + "-" +
         std::to_string(part.range.first + part.range.size - 1);
}

void ObjectFetch::Restart(int tries) {
  ++generation_;
  noted_ = false;
  etag_.clear();
  version_.clear();
  checksum_.reset();
  body_.reset();
  body_size_ = size_ = 0;
  grows_ = false;
  grown_.clear();
  const auto part = std::make_shared<Part>();
  part->tries = tries;
  if (is_piece()) {
    part->range = {body_first(), request_.bytes};
    part->has_range = part->is_cut = true;
  }
  unbegun_ = {part};
  parts_ = 1;
  parts_done_ = 0;
}

void ObjectFetch::Again(std::shared_ptr<Part> part) {
  if (is_piece()) {
    part->range.size = request_.bytes;
    part->is_cut = true;
  } else if (parts_ > 1) {
    part->has_range = true;
    part->is_cut = false;
  }
  unbegun_.push_back(std::move(part));
}

void ObjectFetch::AnswerEmpty(const ResponseHead& head) {
  noted_ = false;
  (void)NoteVersion(head);
  size_ = head.whole.value_or(0);
  body_size_ = 0;
  body_ = std::make_shared<ScratchBuffer>();
  (void)body_->Ensure(1);
  Answer();
}

Failure ObjectFetch::NoteVersion(const ResponseHead& head) {
  if (noted_)
    return head.etag == etag_ && head.version == version_ ? Failure::kNone : Failure::kChanged;
  noted_ = true;
  etag_ = head.etag;
  version_ = head.version;
  checksum_ = head.checksum;
  return Failure::kNone;
}

Failure ObjectFetch::OnHead(Part& part, const ResponseHead& head) {
  if (part.asks_why) return OnNoReason(part);
  // A try that failed left the version of before: the object may be another one now.
  if (parts_ == 1) noted_ = false;
  if (const Failure failure = NoteVersion(head); failure != Failure::kNone) return failure;
  if (request_.what == What::kHead) {
    size_ = head.length.value_or(0);
    return Failure::kNone;
  }
  if (part.asks_size) {
    part.asks_size = false;
    if (head.length.value_or(0) > body_first()) return Failure::kChanged;  // it has grown since
    size_ = head.length.value_or(0);
    body_size_ = part.range.size = 0;
    body_ = std::make_shared<ScratchBuffer>();
    (void)body_->Ensure(1);
    return Failure::kNone;
  }
  return Place(part, head);
}

// Finds out where the bytes go, and makes room for them.
Failure ObjectFetch::Place(Part& part, const ResponseHead& head) {
  if (head.status == 206) {
    if (!part.has_range || head.first != part.range.first) return Failure::kOther;
    if (request_.what == What::kWhole) {
      return head.length == part.range.size && head.whole == size_ ? Failure::kNone
                                                                   : Failure::kChanged;
    }
    if (!head.length || *head.length > request_.bytes) return Failure::kOther;
    size_ = head.whole.value_or(*head.length);
    part.range.size = body_size_ = *head.length;
    part.is_cut = false;
  } else if (part.has_range && request_.what == What::kWhole) {
    in_parts_ = false;  // the store sends all of it whatever is asked for
    return Failure::kChanged;
  } else if (body_first() > 0) {
    ignores_ranges_ = true;  // it may be a thousand times as large
    return Failure::kOther;
  } else if (!head.length) {
    if (!head.tells_its_end) return Failure::kOther;
    grows_ = true;
    grown_.clear();
    part.is_cut = is_piece();
    return Failure::kNone;
  } else {
    size_ = body_size_ = part.range.size = *head.length;
    if (is_piece()) {
      body_size_ = part.range.size = std::min(size_, request_.bytes);
      part.is_cut = size_ > request_.bytes;
    } else if (size_ > request_.bytes) {
      too_large_ = true;
      return Failure::kOther;
    } else if (request_.what == What::kWhole && in_parts_ && head.takes_ranges && !etag_.empty() &&
               size_ / 2 > part_bytes_) {
      part.range.size = part_bytes_;
      part.is_cut = true;
      for (const ByteRange& range : DivideIntoParts(part_bytes_, size_, part_bytes_)) {
        auto more = std::make_shared<Part>();
        more->range = range;
        more->has_range = true;
        unbegun_.push_back(std::move(more));
        ++parts_;
      }
    }
  }
  body_ = std::make_shared<ScratchBuffer>();
  (void)body_->Ensure(std::max<std::uint64_t>(body_size_, 1));
  return Failure::kNone;
}

Failure ObjectFetch::OnBytes(Part& part, ByteSpan bytes) {
  received_ += bytes.size();
  if (request_.what == What::kHead) return Failure::kOther;
  if (grows_) {
    if (grown_.size() + bytes.size() > request_.bytes) {
      if (!is_piece()) {
        too_large_ = true;
        return Failure::kOther;
      }
      bytes = bytes.first(request_.bytes - grown_.size());
    }
    grown_.insert(grown_.end(), bytes.begin(), bytes.end());
    part.got = grown_.size();
    part.range.size = is_piece() ? request_.bytes : part.got;
    return Failure::kNone;
  }
  const std::uint64_t room = part.range.size - part.got;
  if (bytes.size() > room) {
    if (!part.is_cut) return Failure::kOther;
    bytes = bytes.first(room);
  }
  std::memcpy(body_->data() + (part.range.first - body_first()) + part.got, bytes.data(),
              bytes.size());
  part.got += bytes.size();
  return Failure::kNone;
}

Failure ObjectFetch::OnEnd(Part& part) {
  if (request_.what != What::kHead && !grows_ && part.got != part.range.size)
    return Failure::kBroken;
  if (++parts_done_ < parts_) return Failure::kNone;
  if (grows_) {
    body_size_ = size_ = grown_.size();
    body_ = std::make_shared<ScratchBuffer>();
    std::memcpy(body_->Ensure(std::max<std::uint64_t>(body_size_, 1)), grown_.data(), body_size_);
  }
  const bool all = request_.what == What::kWhole || request_.what == What::kText;
  if (all && checksum_ &&
      !checksum_->Fits({reinterpret_cast<const std::byte*>(body_->data()), body_size_})) {
    return Failure::kDamaged;
  }
  Answer();
  return Failure::kNone;
}

void ObjectFetch::Answer() {
  ObjectAnswer answer;
  answer.size = size_;
  answer.version = version_.empty() ? etag_ : version_;
  if (body_) answer.bytes = {reinterpret_cast<const std::byte*>(body_->data()), body_size_};
  answer.body = std::move(body_);
  answer.received = received_;
  std::exchange(on_object_, nullptr)(std::move(answer));
}

void ObjectFetch::Fail(Status status) {
  if (answered()) return;
  ObjectAnswer answer;
  answer.status = std::move(status);
  answer.received = received_;
  std::exchange(on_object_, nullptr)(std::move(answer));
}

}  // namespace headrace::remote
