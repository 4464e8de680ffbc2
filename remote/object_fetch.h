#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "remote/object_request.h"
#include "remote/parts.h"
#include "remote/response_head.h"
#include "remote/retry.h"

namespace headrace::remote {

// One ObjectRequest on its way: which parts are asked for, what has come of them, and whether they are
// of one version. It begins with one request without a range. If the answer is large, that request
// ends after its first part, and the rest is asked for in ranges of the same version. It knows
// nothing of connections and of time. The client's thread.
class ObjectFetch {
 public:
  // One request by HTTP.
  struct Part {
    ByteRange range;         // size 0: not known yet
    bool has_range = false;  // asks for it by a Range header
    bool is_cut = false;     // more may come than is wanted
    std::uint64_t got = 0;   // bytes of this try
    int tries = 0;
    int redirects = 0;
    std::optional<ObjectUrl> redirected;  // to this
    Remedies done;
    bool asks_why = false;   // of a HEAD: this try is a GET of one byte
    bool asks_size = false;  // of a range: this try is a HEAD
  };

  // `part_bytes`: objects of more than two such parts are read in parts.
  ObjectFetch(ObjectRequest request, std::uint64_t part_bytes, OnObject on_object)
      : request_(std::move(request)), part_bytes_(part_bytes), on_object_(std::move(on_object)) {
    Restart(0);
  }

  [[nodiscard]] const ObjectRequest& request() const { return request_; }
  [[nodiscard]] bool answered() const { return on_object_ == nullptr; }
  // Parts that have not begun; each is given once until it is asked for again.
  [[nodiscard]] std::vector<std::shared_ptr<Part>> TakeParts() {
    return std::exchange(unbegun_, {});
  }
  // A try is a HEAD, and no GET.
  [[nodiscard]] bool IsHead(const Part& part) const {
    return request_.what == ObjectRequest::What::kHead ? !part.asks_why : part.asks_size;
  }
  // The value of the Range header, and of If-Match; empty: none.
  [[nodiscard]] static std::string RangeOf(const Part& part);
  [[nodiscard]] std::string MatchOf(const Part& part) const {
    return part.has_range && !etag_.empty() && request_.what == ObjectRequest::What::kWhole ? etag_
                                                                                            : "";
  }

  // Begins a try of a part.
  static void BeginTry(Part& part) {
    ++part.tries;
    part.got = 0;
  }
  // A GET that asked why a HEAD was refused was not: the HEAD is to be tried again.
  static Outcome::Failure OnNoReason(Part& part) {
    part.asks_why = part.done.asked_why = false;
    return Outcome::Failure::kBroken;
  }
  // The head of a part's answer came, and bytes of it. A failure: they are of no use, and the transfer
  // ends. REQUIRES: the head's status is 2xx.
  Outcome::Failure OnHead(Part& part, const ResponseHead& head);
  Outcome::Failure OnBytes(Part& part, ByteSpan bytes);
  // All that is wanted of this part is there.
  [[nodiscard]] static bool IsEnough(const Part& part) {
    return part.is_cut && part.range.size > 0 && part.got == part.range.size;
  }
  // A transfer ended well: whether that was all, and the right bytes. Answers after the last part.
  Outcome::Failure OnEnd(Part& part);
  // Has the part asked for again; or everything, for another version.
  void Again(std::shared_ptr<Part> part);
  void Restart(int tries);
  // Bytes beyond the object's end were asked for, which stores answer with 416.
  void AnswerEmpty(const ResponseHead& head);
  [[nodiscard]] bool StartsBeyond(const ResponseHead& head) const {
    return is_piece() && head.whole && *head.whole <= body_first();
  }
  // Every transfer of earlier parts is of no use if this has changed.
  [[nodiscard]] int generation() const { return generation_; }
  // Answers, if that has not been done.
  void Fail(Status status);
  [[nodiscard]] bool too_large() const { return too_large_; }
  // The store sent the whole object where a range was asked for.
  [[nodiscard]] bool ignores_ranges() const { return ignores_ranges_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  // One range is asked for, and nothing else.
  [[nodiscard]] bool is_piece() const {
    return request_.what == ObjectRequest::What::kStart ||
           request_.what == ObjectRequest::What::kRange;
  }

 private:
  Outcome::Failure NoteVersion(const ResponseHead& head);
  Outcome::Failure Place(Part& part, const ResponseHead& head);
  void Answer();

  const ObjectRequest request_;
  const std::uint64_t part_bytes_;
  OnObject on_object_;  // empty once it is answered
  std::vector<std::shared_ptr<Part>> unbegun_;
  std::size_t parts_ = 0, parts_done_ = 0;
  int generation_ = 0;
  bool in_parts_ = true;  // false: the store ignores ranges
  bool too_large_ = false, ignores_ranges_ = false;
  // Of the version that is read:
  bool noted_ = false;
  std::string etag_, version_;
  std::optional<Checksum> checksum_;
  std::uint64_t size_ = 0;
  std::shared_ptr<ScratchBuffer> body_;
  std::uint64_t body_size_ = 0;
  // Where the body begins in the object.
  [[nodiscard]] std::uint64_t body_first() const {
    return request_.what == ObjectRequest::What::kRange ? request_.first : 0;
  }
  bool grows_ = false;  // no length was given
  Bytes grown_;
  std::uint64_t received_ = 0;
};

}  // namespace headrace::remote
