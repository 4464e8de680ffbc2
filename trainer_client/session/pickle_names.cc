// This file is long because each opcode of a pickle has its rule here.
#include "trainer_client/session/pickle_names.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace headrace::client {
namespace {

// The opcodes of a pickle of protocol 5 by Python's own pickler.
enum class Op : std::uint8_t {
  kMark = '(',
  kStop = '.',
  kPop = '0',
  kPopMark = '1',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kReduce = 'R',
  kBinUnicode = 'X',
  kAppend = 'a',
  kBuild = 'b',
  kAppends = 'e',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kEmptyList = ']',
  kEmptyTuple = ')',
  kEmptyDict = '}',
  kSetItem = 's',
  kTuple = 't',
  kSetItems = 'u',
  kBinFloat = 'G',
  kBinBytes = 'B',
  kShortBinBytes = 'C',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  kLong4 = 0x8b,
  kShortBinUnicode = 0x8c,
  kBinUnicode8 = 0x8d,
  kBinBytes8 = 0x8e,
  kEmptySet = 0x8f,
  kAddItems = 0x90,
  kFrozenSet = 0x91,
  kNewObjEx = 0x92,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
  kByteArray8 = 0x96,
  kNextBuffer = 0x97,
  kReadonlyBuffer = 0x98,
};

// The hash of a tuple goes down into its parts without a bound, on the stack of the thread.
constexpr std::uint32_t kMostDepth = 1000;
// Bounds of this reader's own memory: each byte may be a value.
constexpr std::size_t kMostBytes = std::size_t{1} << 31;
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;
constexpr std::size_t kMostKept = std::size_t{1} << 23;
// Beyond what any batch has; the search for one is linear.
constexpr std::size_t kMostNames = 1000;
constexpr std::string_view kPickling = "headrace.stage.pickling";

// Where a text lies in the pickle.
struct Place {
  std::uint32_t at = 0, size = 0;
};

// What is known of a value on the unpickler's stack. Small, because a byte may push one.
struct Value {
  enum class Kind : std::uint8_t { kPlain, kText, kTexts, kList, kDict, kSet, kName, kMade, kMark };
  Kind kind = Kind::kPlain;
  std::uint32_t depth = 1;
  std::uint32_t name = 0;  // kName: itself; kMade: what made it
  Place first, second;     // kText: the text; kTexts: a pair of texts
};
using Kind = Value::Kind;

class Reader {
 public:
  Reader(ByteSpan pickle, std::size_t buffers)
      : text_(reinterpret_cast<const char*>(pickle.data()), pickle.size()), buffers_(buffers) {}

  Result<std::set<NameUse>> Read() {
    if (text_.size() > kMostBytes) return DataLoss("a pickle of more than 2 GiB");
    if (text_.size() < 2 || text_[0] != static_cast<char>(Op::kProto) || text_[1] != 5) {
      return DataLoss("no pickle of protocol 5");
    }
    at_ = 2;
    while (!stopped_) {
      const std::optional<std::uint64_t> op = Number(1);
      if (!op || !Step(static_cast<Op>(*op))) {
        const std::string why = why_.empty() ? "it is no pickle that Python's pickler makes" : why_;
        return DataLoss(why + " (at byte " + std::to_string(at_) + ")");
      }
    }
    if (at_ != text_.size()) return DataLoss("bytes after the end of a pickle");
    return std::move(uses_);
  }

 private:
  // All return false where the pickle is refused.

  bool Step(Op op) {
    switch (op) {
      case Op::kStop:
        stopped_ = true;
        return stack_.size() == 1 && Take().has_value();
      case Op::kFrame: {
        const std::optional<std::uint64_t> bytes = Number(8);
        return bytes && *bytes <= text_.size() - at_;
      }
      case Op::kNone:
      case Op::kNewTrue:
      case Op::kNewFalse:
      case Op::kEmptyTuple:
        return Push({});
      case Op::kBinInt1:
        return Skip(1) && Push({});
      case Op::kBinInt2:
        return Skip(2) && Push({});
      case Op::kBinInt:
        return Skip(4) && Push({});
      case Op::kBinFloat:
        return Skip(8) && Push({});
      case Op::kLong1:
      case Op::kShortBinBytes:
        return Counted(1).has_value() && Push({});
      case Op::kLong4:
      case Op::kBinBytes:
        return Counted(4).has_value() && Push({});
      case Op::kBinBytes8:
      case Op::kByteArray8:
        return Counted(8).has_value() && Push({});
      case Op::kShortBinUnicode:
        return Text(1);
      case Op::kBinUnicode:
        return Text(4);
      case Op::kBinUnicode8:
        return Text(8);
      case Op::kNextBuffer:
        return buffers_ > 0 && buffers_-- > 0 && Push({});
      case Op::kReadonlyBuffer:
        return Top() != nullptr;
      case Op::kEmptyList:
        return Push({.kind = Kind::kList});
      case Op::kEmptyDict:
        return Push({.kind = Kind::kDict});
      case Op::kEmptySet:
        return Push({.kind = Kind::kSet});
      case Op::kMark:
        return Push({.kind = Kind::kMark});
      case Op::kPop:
        if (stack_.empty()) return false;
        stack_.pop_back();
        return true;
      case Op::kPopMark:
        return TakeToMark().has_value();
      case Op::kTuple1:
        return Tuple(1);
      case Op::kTuple2:
        return Tuple(2);
      case Op::kTuple3:
        return Tuple(3);
      case Op::kTuple:
      case Op::kFrozenSet: {
        const std::optional<Items> items = TakeToMark();
        return items && Push({.depth = items->depth + 1});
      }
      case Op::kMemoize:
        if (Top() == nullptr || memo_.size() >= kMostKept) return false;
        memo_.push_back(*Top());
        return true;
      case Op::kBinGet:
        return Get(1);
      case Op::kLongBinGet:
        return Get(4);
      case Op::kAppend: {
        const std::optional<Value> item = Take();
        return item && Fill(NameUse::Kind::kAppend, Kind::kList, item->depth);
      }
      case Op::kAppends:
        return FillAll(NameUse::Kind::kAppend, Kind::kList, 1);
      case Op::kSetItem: {
        const std::optional<Value> value = Take();
        const std::optional<Value> key = Take();
        return value && key &&
               Fill(NameUse::Kind::kSetItem, Kind::kDict, std::max(value->depth, key->depth));
      }
      case Op::kSetItems:
        return FillAll(NameUse::Kind::kSetItem, Kind::kDict, 2);
      case Op::kAddItems: {
        const std::optional<Items> items = TakeToMark();
        return items && Top() != nullptr && Top()->kind == Kind::kSet && Deepen(items->depth);
      }
      case Op::kStackGlobal:
        return Global();
      case Op::kReduce:
        return Call();
      case Op::kNewObj:
        return New(1);
      case Op::kNewObjEx:
        return New(2);
      case Op::kBuild:
        return Build();
      case Op::kProto:  // again
        break;
    }
    return false;
  }

  std::optional<std::uint64_t> Number(std::size_t bytes) {
    if (text_.size() - at_ < bytes) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i) {
      value |= std::uint64_t{static_cast<std::uint8_t>(text_[at_ + i])} << (8 * i);
    }
    at_ += bytes;
    return value;
  }
  bool Skip(std::uint64_t bytes) {
    if (bytes > text_.size() - at_) {
      why_ = "a length beyond its end";
      return false;
    }
    at_ += bytes;
    return true;
  }
  // Bytes after their length of `width` bytes.
  std::optional<Place> Counted(std::size_t width) {
    const std::optional<std::uint64_t> bytes = Number(width);
    const auto begin = static_cast<std::uint32_t>(at_);
    if (!bytes || !Skip(*bytes)) return std::nullopt;
    return Place{begin, static_cast<std::uint32_t>(*bytes)};
  }
  bool Text(std::size_t width) {
    const std::optional<Place> text = Counted(width);
    return text && Push({.kind = Kind::kText, .first = *text});
  }
  [[nodiscard]] std::string_view TextAt(Place place) const {
    return text_.substr(place.at, place.size);
  }

  bool Push(Value value) {
    if (value.depth > kMostDepth) {
      why_ = "values inside of values, more than " + std::to_string(kMostDepth) + " deep";
      return false;
    }
    if (stack_.size() >= kMostWaiting) {
      why_ = "more than " + std::to_string(kMostWaiting) + " values at once";
      return false;
    }
    stack_.push_back(value);
    return true;
  }
  // The topmost value; null: there is none above the last mark.
  Value* Top() {
    return stack_.empty() || stack_.back().kind == Kind::kMark ? nullptr : &stack_.back();
  }
  std::optional<Value> Take() {
    const Value* top = Top();
    if (top == nullptr) return std::nullopt;
    const Value value = *top;
    stack_.pop_back();
    return value;
  }
  struct Items {
    std::size_t count = 0;
    std::uint32_t depth = 0;
  };
  std::optional<Items> TakeToMark() {
    Items items;
    for (; !stack_.empty(); stack_.pop_back()) {
      if (stack_.back().kind == Kind::kMark) {
        stack_.pop_back();
        return items;
      }
      ++items.count;
      items.depth = std::max(items.depth, stack_.back().depth);
    }
    return std::nullopt;
  }
  bool Get(std::size_t width) {
    const std::optional<std::uint64_t> index = Number(width);
    return index && *index < memo_.size() && Push(memo_[*index]);
  }
  bool Tuple(std::size_t count) {
    Value made{.depth = 0};
    bool texts = count == 2;
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<Value> item = Take();
      if (!item) return false;
      texts = texts && item->kind == Kind::kText;
      made.depth = std::max(made.depth, item->depth);
      made.second = made.first;
      made.first = item->first;  // the last one is taken first
    }
    if (texts) made.kind = Kind::kTexts;
    ++made.depth;
    return Push(made);
  }

  bool Deepen(std::uint32_t depth) {
    Top()->depth = std::max(Top()->depth, depth + 1);
    return Top()->depth <= kMostDepth;
  }
  // Items for the container on top: one that Python knows, or an object that a name has made.
  bool Fill(NameUse::Kind use, Kind container, std::uint32_t depth) {
    Value* top = Top();
    if (top == nullptr) return false;
    if (top->kind == Kind::kMade) {
      Use(use, top->name);
    } else if (top->kind != container) {
      why_ = "items for what is no container of its own";
      return false;
    }
    return Deepen(depth);
  }
  bool FillAll(NameUse::Kind use, Kind container, std::size_t each) {
    const std::optional<Items> items = TakeToMark();
    return items && items->count % each == 0 && Fill(use, container, items->depth);
  }

  std::uint32_t NameOf(std::string_view module, std::string_view name) {
    const auto at = std::ranges::find(names_, std::pair(module, name));
    if (at != names_.end()) return static_cast<std::uint32_t>(at - names_.begin());
    names_.emplace_back(module, name);
    return static_cast<std::uint32_t>(names_.size() - 1);
  }
  void Use(NameUse::Kind kind, std::size_t name) {
    uses_.insert({kind, std::string(names_[name].first), std::string(names_[name].second)});
  }
  bool Global() {
    const std::optional<Value> name = Take();
    const std::optional<Value> module = Take();
    if (!name || !module || name->kind != Kind::kText || module->kind != Kind::kText) {
      why_ = "a computed name";
      return false;
    }
    return PushName(TextAt(module->first), TextAt(name->first));
  }
  bool PushName(std::string_view module, std::string_view name) {
    if (names_.size() >= kMostNames) {
      why_ = "more than " + std::to_string(kMostNames) + " names";
      return false;
    }
    const std::uint32_t number = NameOf(module, name);
    if (!FindsByName(number)) Use(NameUse::Kind::kValue, number);
    return Push({.kind = Kind::kName, .name = number});
  }
  [[nodiscard]] bool FindsByName(std::size_t name) const {
    const auto& [module, function] = names_[name];
    return module == kPickling && (function == "by_name" || function == "exception_by_name");
  }
  bool Call() {
    const std::optional<Value> arguments = Take();
    const std::optional<Value> callable = Take();
    if (!arguments || !callable || callable->kind != Kind::kName) {
      why_ = "a call of what is no name";
      return false;
    }
    if (!FindsByName(callable->name)) {
      Use(NameUse::Kind::kCall, callable->name);
      return Push({.kind = Kind::kMade, .depth = arguments->depth + 1, .name = callable->name});
    }
    if (arguments->kind != Kind::kTexts) {
      why_ = "a computed name";
      return false;
    }
    return PushName(TextAt(arguments->first), TextAt(arguments->second));
  }
  // An object of a class: `parts` says how many values are its arguments.
  bool New(std::size_t parts) {
    std::uint32_t depth = 0;
    for (std::size_t i = 0; i < parts; ++i) {
      const std::optional<Value> arguments = Take();
      if (!arguments) return false;
      depth = std::max(depth, arguments->depth);
    }
    const std::optional<Value> type = Take();
    if (!type || type->kind != Kind::kName || FindsByName(type->name)) {
      why_ = "an object of what is no name";
      return false;
    }
    Use(NameUse::Kind::kNew, type->name);
    return Push({.kind = Kind::kMade, .depth = depth + 1, .name = type->name});
  }
  bool Build() {
    const std::optional<Value> state = Take();
    if (!state || Top() == nullptr || Top()->kind != Kind::kMade) {
      why_ = "a state for what it has not made";
      return false;
    }
    Use(NameUse::Kind::kBuild, Top()->name);
    return Deepen(state->depth);
  }

  const std::string_view text_;
  std::size_t buffers_;
  std::size_t at_ = 0;
  bool stopped_ = false;
  std::string why_;
  std::vector<Value> stack_, memo_;
  std::vector<std::pair<std::string_view, std::string_view>> names_;
  std::set<NameUse> uses_;
};

}  // namespace

Result<std::set<NameUse>> NamesInPickle(ByteSpan pickle, std::size_t buffers) {
  return Reader(pickle, buffers).Read();
}

}  // namespace headrace::client
