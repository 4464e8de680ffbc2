#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/export.h"

namespace headrace {

// Error codes that cross folder and process borders. Values are wire values: append only.
enum class Code : unsigned char {
  kOk = 0,
  kInvalidArgument = 1,
  kNotFound = 2,
  kUnavailable = 3,
  kDeadlineExceeded = 4,
  kCancelled = 5,
  kDataLoss = 6,           // stored or sent bytes are damaged
  kResourceExhausted = 7,  // memory, slots, disk; a retry may work
  kInfeasible = 8,         // can never work with this input; do not retry
  kInternal = 9,           // our bug
  kUnsupported = 10,       // valid, but this build has no native form for it: use another path
  kOtherRelease = 11,      // the peer speaks another wire version: use the same release
  kUnknown = 255,          // a code of a newer peer
};

HEADRACE_PUBLIC [[nodiscard]] std::string_view CodeName(Code code);

// What a decision has to know beyond the code. A message is for people; nobody decides by its words.
// Values are wire values: append only.
enum class Detail : unsigned char {
  kNone = 0,
  kNoSession = 1,     // kNotFound: the peer does not know the session, job or worker; begin again
  kSlotTooSmall = 2,  // kResourceExhausted: a larger slot would do
  kOtherSpec = 3,     // kUnavailable: the sample is not the tensor that its draws were made for
  kOtherContent = 4,  // kUnavailable: the file is not the one that the trainer has by this name
  kNoFile = 5,        // kNotFound: on that host the name of the sample's file leads nowhere
  kNotAllowed = 6,    // kUnavailable: the file lies outside of what the worker may read
  kEndsWorkers = 7,   // kUnavailable: workers were lost while they made the sample, or its batch
  // Why an engine does not give a pool its workers.
  kQuota = 8,         // a quota or a limit of its is used up
  kForbidden = 9,     // its account may not
  kNoImage = 10,      // nodes do not get the image
  kNoPlace = 11,      // there is no such partition or namespace, or it takes nobody
  kUnreachable = 12,  // it does not answer, or cannot be run
  kNoRoom = 13,       // no node has room now
  kWorkersFail = 14,  // they start and end, or do not register
  kUnknown = 255,     // a detail of a newer peer
};

HEADRACE_PUBLIC [[nodiscard]] std::string_view DetailName(Detail detail);

// Outcome of an operation that returns no value. Cheap when ok. Thread-compatible.
class [[nodiscard]] HEADRACE_PUBLIC
    Status {  // NOLINT(clang-analyzer-core.uninitialized.Assign): see .clang-tidy
 public:
  Status() = default;
  Status(Code code, std::string message, Detail detail = Detail::kNone)
      : code_(code), detail_(detail), message_(std::move(message)) {}

  static Status Ok() { return {}; }
  [[nodiscard]] bool ok() const { return code_ == Code::kOk; }
  [[nodiscard]] Code code() const { return code_; }
  [[nodiscard]] Detail detail() const { return detail_; }
  // Says what happened to what (ids, path, offset), and the remedy if it is known.
  [[nodiscard]] const std::string& message() const { return message_; }
  // "NotFound: no such file: /a/b.jpg"
  [[nodiscard]] std::string ToString() const;
  // The same code and detail, with "context: " before the message.
  [[nodiscard]] Status WithContext(std::string_view context) const;
  // The same code and message.
  [[nodiscard]] Status WithDetail(Detail detail) const { return {code_, message_, detail}; }

  friend bool operator==(const Status&, const Status&) = default;

 private:
  Code code_ = Code::kOk;
  Detail detail_ = Detail::kNone;
  std::string message_;
};

// A value or the Status that says why there is none (like std::expected). Thread-compatible.
template <typename T>
class [[nodiscard]] Result {
 public:
  Result(T value) : v_(std::in_place_index<0>, std::move(value)) {}  // NOLINT(runtime/explicit)
  Result(Status status)
      : v_(std::in_place_index<1>, std::move(status)) {}  // NOLINT(runtime/explicit)

  [[nodiscard]] bool ok() const { return v_.index() == 0; }
  explicit operator bool() const { return ok(); }
  // REQUIRES: ok().
  [[nodiscard]] T& value() & { return std::get<0>(v_); }
  [[nodiscard]] const T& value() const& { return std::get<0>(v_); }
  [[nodiscard]] T&& value() && { return std::get<0>(std::move(v_)); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }
  [[nodiscard]] Status status() const { return ok() ? Status() : std::get<1>(v_); }
  [[nodiscard]] T value_or(T fallback) && {
    return ok() ? std::move(*this).value() : std::move(fallback);
  }

 private:
  std::variant<T, Status> v_;
};

[[nodiscard]] inline Status InvalidArgument(std::string m) {
  return {Code::kInvalidArgument, std::move(m)};
}
[[nodiscard]] inline Status NotFound(std::string m) { return {Code::kNotFound, std::move(m)}; }
[[nodiscard]] inline Status NoSession(std::string m) {
  return {Code::kNotFound, std::move(m), Detail::kNoSession};
}
// True: the peer does not know what was asked of it, and one begins again. Older peers say kNotFound
// alone.
[[nodiscard]] inline bool IsNoSession(const Status& status) {
  return status.code() == Code::kNotFound &&
         (status.detail() == Detail::kNoSession || status.detail() == Detail::kNone);
}
[[nodiscard]] inline Status Unavailable(std::string m) {
  return {Code::kUnavailable, std::move(m)};
}
[[nodiscard]] inline Status DeadlineExceeded(std::string m) {
  return {Code::kDeadlineExceeded, std::move(m)};
}
[[nodiscard]] inline Status Cancelled(std::string m) { return {Code::kCancelled, std::move(m)}; }
[[nodiscard]] inline Status DataLoss(std::string m) { return {Code::kDataLoss, std::move(m)}; }
[[nodiscard]] inline Status ResourceExhausted(std::string m) {
  return {Code::kResourceExhausted, std::move(m)};
}
[[nodiscard]] inline Status Infeasible(std::string m) { return {Code::kInfeasible, std::move(m)}; }
[[nodiscard]] inline Status Internal(std::string m) { return {Code::kInternal, std::move(m)}; }
[[nodiscard]] inline Status Unsupported(std::string m) {
  return {Code::kUnsupported, std::move(m)};
}
[[nodiscard]] inline Status OtherRelease(std::string m) {
  return {Code::kOtherRelease, std::move(m)};
}
// Makes a Status from an errno (kNotFound, kUnavailable, kResourceExhausted ...); message = "what:
// strerror".
HEADRACE_PUBLIC [[nodiscard]] Status ErrnoStatus(int error_number, std::string_view what);

}  // namespace headrace

#define HR_CONCAT_INNER_(a, b) a##b
#define HR_CONCAT_(a, b) HR_CONCAT_INNER_(a, b)
// Returns the error of a Status expression from the enclosing function.
#define HR_RETURN_IF_ERROR(expr)                                                     \
  do {                                                                               \
    if (::headrace::Status hr_status_ = (expr); !hr_status_.ok()) return hr_status_; \
  } while (false)
// HR_TRY(auto x, MakeX()): binds the value of a Result, or returns its error.
#define HR_TRY(declaration, expr) HR_TRY_IMPL_(HR_CONCAT_(hr_result_, __LINE__), declaration, expr)
#define HR_TRY_IMPL_(tmp, declaration, expr) \
  auto tmp = (expr);                         \
  if (!tmp.ok()) return tmp.status();        \
  declaration = std::move(tmp).value()
