// This file is long because each opcode of a pickle has its rule here.
#include "trainer_client/session/pickle_names.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "trainer_client/session/pickle_extents.h"

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

// Bounds of this reader's own memory: each byte may be a value.
constexpr std::size_t kMostBytes = std::size_t{1} << 31;
constexpr std::size_t kMostWaiting = std::size_t{1} << 20;
constexpr std::size_t kMostKept = std::size_t{1} << 23;
// Beyond what any batch has; the search for one is linear.
constexpr std::size_t kMostNames = 1000;
constexpr std::string_view kPickling = "headrace.stage.pickling";
constexpr std::string_view kArrays = "headrace.stage.arrays";

// Where a text lies in the pickle.
struct Place {
  std::uint32_t at = 0, size = 0;
};

constexpr Extent kOne{.depth = 1, .parts = 1};

constexpr std::uint32_t kNoObject = UINT32_MAX;

// What is known of a value on the unpickler's stack. Small, because a byte may push one.
struct Value {
  enum class Kind : std::uint8_t { kPlain, kText, kTexts, kList, kDict, kSet, kName, kMade, kMark };
  Kind kind = Kind::kPlain;
  std::uint32_t name = 0;              // kName: itself; kMade: what made it
  std::uint32_t object = kNoObject;    // what can grow
  std::uint32_t in_front = kNoObject;  // a tuple of two: the object that is its first
  Extent extent = kOne;                // of what can't grow
  Place first, second;                 // kText: the text; kTexts: a pair of texts
};
using Kind = Value::Kind;

using Name = std::pair<std::string_view, std::string_view>;

bool FindsByName(const Name& name) {
  return name.first == kPickling &&
         (name.second == "by_name" || name.second == "exception_by_name");
}
// It makes its first argument hold the others.
bool FillsObjects(const Name& name) { return name == Name(kArrays, "fill_objects"); }
// Whether objects of the class have nothing but attributes. Those of the job's own may want any state.
bool HasAttributes(const Name& name) {
  const std::string_view module = name.first;
  return module == "builtins" || module == "types" || module == "uuid" || module == "torch._utils";
}

// Where the reader is in the pickle.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  [[nodiscard]] std::size_t at() const { return at_; }
  [[nodiscard]] std::size_t left() const { return text_.size() - at_; }
  [[nodiscard]] bool beyond() const { return beyond_; }  // a length was
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
      beyond_ = true;
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
  [[nodiscard]] std::string_view TextAt(Place place) const {
    return text_.substr(place.at, place.size);
  }

 private:
  const std::string_view text_;
  std::size_t at_ = 0;
  bool beyond_ = false;
};

class Reader {
 public:
  Reader(ByteSpan pickle, std::size_t buffers)
      : cursor_({reinterpret_cast<const char*>(pickle.data()), pickle.size()}),
        extents_(pickle.size()),
        buffers_(buffers) {}

  Result<std::set<NameUse>> Read() {
    if (cursor_.left() > kMostBytes) return ResourceExhausted("a pickle of more than 2 GiB");
    if (cursor_.Number(2) != (std::uint64_t{5} << 8 | static_cast<std::uint64_t>(Op::kProto))) {
      return DataLoss("no pickle of protocol 5");
    }
    while (!stopped_) {
      const std::optional<std::uint64_t> op = cursor_.Number(1);
      if (!op || !Step(static_cast<Op>(*op))) {
        return Refused();
      }
      before_ = static_cast<Op>(*op);
    }
    if (cursor_.left() > 0) return DataLoss("bytes after the end of a pickle");
    return std::move(uses_);
  }

 private:
  [[nodiscard]] Status Refused() const {
    const bool too_much = too_much_ || !extents_.why().empty();
    std::string why = "it is no pickle that Python's pickler makes";
    if (cursor_.beyond()) why = "a length beyond its end";
    if (!why_.empty()) why = why_;
    if (!extents_.why().empty()) why = extents_.why();
    return Status(too_much ? Code::kResourceExhausted : Code::kDataLoss,
                  why + " (at byte " + std::to_string(cursor_.at()) + ")");
  }

  // All return false where the pickle is refused.

  bool Step(Op op) {
    switch (op) {
      case Op::kStop:
        stopped_ = true;
        return stack_.size() == 1 && Take().has_value();
      case Op::kFrame: {
        const std::optional<std::uint64_t> bytes = cursor_.Number(8);
        return bytes && *bytes <= cursor_.left();
      }
      case Op::kNone:
      case Op::kNewTrue:
      case Op::kNewFalse:
      case Op::kEmptyTuple:
        return Push({});
      case Op::kBinInt1:
        return cursor_.Skip(1) && Push({});
      case Op::kBinInt2:
        return cursor_.Skip(2) && Push({});
      case Op::kBinInt:
        return cursor_.Skip(4) && Push({});
      case Op::kBinFloat:
        return cursor_.Skip(8) && Push({});
      case Op::kLong1:
      case Op::kShortBinBytes:
        return cursor_.Counted(1).has_value() && Push({});
      case Op::kLong4:
      case Op::kBinBytes:
        return cursor_.Counted(4).has_value() && Push({});
      case Op::kBinBytes8:
      case Op::kByteArray8:
        return cursor_.Counted(8).has_value() && Push({});
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
        return PushObject(Kind::kList);
      case Op::kEmptyDict:
        return PushObject(Kind::kDict);
      case Op::kEmptySet:
        return PushObject(Kind::kSet);
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
        return items && (op == Op::kTuple || extents_.LooksThrough(items->extent)) &&
               Push({.extent = Around(items->extent)});
      }
      case Op::kMemoize:
        if (Top() == nullptr) return false;
        if (memo_.size() >= kMostKept) {
          return TooMuch("more than " + std::to_string(kMostKept) + " values to be used again");
        }
        memo_.push_back(*Top());
        return true;
      case Op::kBinGet:
        return Get(1);
      case Op::kLongBinGet:
        return Get(4);
      case Op::kAppend: {
        const std::optional<Value> item = Take();
        return item && Fill(NameUse::Kind::kAppend, Kind::kList, ExtentOf(*item));
      }
      case Op::kAppends: {
        const std::optional<Items> items = TakeToMark();
        return items && Fill(NameUse::Kind::kAppend, Kind::kList, items->extent);
      }
      case Op::kSetItem: {
        const std::optional<Value> value = Take();
        const std::optional<Value> key = Take();
        if (!value || !key || Top() == nullptr) return false;
        Extent extent = ExtentOf(*value);
        extent.Add(ExtentOf(*key));
        return Key(*key, *Top()) && Fill(NameUse::Kind::kSetItem, Kind::kDict, extent);
      }
      case Op::kSetItems:
        return SetAll();
      case Op::kAddItems: {
        const std::optional<Items> items = TakeToMark();
        return items && Top() != nullptr && Top()->kind == Kind::kSet &&
               extents_.LooksThrough(items->extent) && extents_.Grow(Top()->object, items->extent);
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

  bool Text(std::size_t width) {
    const std::optional<Place> text = cursor_.Counted(width);
    return text && Push({.kind = Kind::kText, .first = *text});
  }
  bool TooMuch(std::string why) {
    too_much_ = true;
    why_ = std::move(why);
    return false;
  }
  bool Push(const Value& value) {
    if (!extents_.MayNest(ExtentOf(value))) return false;
    if (stack_.size() >= kMostWaiting) {
      return TooMuch("more than " + std::to_string(kMostWaiting) + " values at once");
    }
    stack_.push_back(value);
    return true;
  }
  // Of a new value that has `parts` inside.
  bool PushObject(Kind kind, const Extent& parts = {}, std::uint32_t name = 0) {
    if (!extents_.Make(parts)) return false;
    const auto number = static_cast<std::uint32_t>(extents_.size() - 1);
    return Push({.kind = kind, .name = name, .object = number});
  }
  [[nodiscard]] const Extent& ExtentOf(const Value& value) const {
    return value.object == kNoObject ? value.extent : extents_.at(value.object).extent;
  }
  // The topmost value; null: there is none above the last mark.
  Value* Top() {
    return stack_.empty() || stack_.back().kind == Kind::kMark ? nullptr : &stack_.back();
  }
  // Takes what becomes a part of another value.
  std::optional<Value> Take() {
    const Value* top = Top();
    if (top == nullptr) return std::nullopt;
    const Value value = *top;
    stack_.pop_back();
    if (value.object != kNoObject) ++extents_.at(value.object).holders;
    return value;
  }
  struct Items {
    std::size_t count = 0;
    Extent extent;
  };
  std::optional<Items> TakeToMark() {
    Items items;
    while (const std::optional<Value> item = Take()) {
      ++items.count;
      items.extent.Add(ExtentOf(*item));
    }
    if (stack_.empty()) return std::nullopt;
    stack_.pop_back();
    return items;
  }
  bool Get(std::size_t width) {
    const std::optional<std::uint64_t> index = cursor_.Number(width);
    return index && *index < memo_.size() && Push(memo_[*index]);
  }
  bool Tuple(std::size_t count) {
    Value made;
    Extent parts;
    bool texts = count == 2;
    for (std::size_t i = 0; i < count; ++i) {
      const std::optional<Value> item = Take();
      if (!item) return false;
      texts = texts && item->kind == Kind::kText;
      parts.Add(ExtentOf(*item));
      made.second = made.first;
      made.first = item->first;  // the last one is taken first
      made.in_front = count == 2 ? item->object : kNoObject;
    }
    if (texts) made.kind = Kind::kTexts;
    made.extent = Around(parts);
    return Push(made);
  }

  // Items for the container on top: one that Python knows, or an object that a name has made.
  bool Fill(NameUse::Kind use, Kind container, const Extent& items) {
    const Value* top = Top();
    if (top == nullptr) return false;
    if (top->kind == Kind::kMade) {
      // A state may say what its methods are.
      if (extents_.at(top->object).has_state) return false;
      Use(use, top->name);
    } else if (top->kind != container) {
      why_ = "items for what is no container of its own";
      return false;
    }
    return extents_.Grow(top->object, items);
  }
  // Entries down to the mark: keys and values by turns.
  bool SetAll() {
    std::size_t mark = stack_.size();
    while (mark > 0 && stack_[mark - 1].kind != Kind::kMark) --mark;
    if (mark < 2 || (stack_.size() - mark) % 2 != 0) return false;
    for (std::size_t key = mark; key < stack_.size(); key += 2) {
      if (!Key(stack_[key], stack_[mark - 2])) return false;
    }
    const std::optional<Items> items = TakeToMark();
    return items && Fill(NameUse::Kind::kSetItem, Kind::kDict, items->extent);
  }
  bool Key(const Value& key, const Value& container) {
    if (container.object != kNoObject) {
      PickleExtents::Object& object = extents_.at(container.object);
      if (key.kind != Kind::kText) {
        object.odd_keys = true;
      } else if (const std::string_view text = cursor_.TextAt(key.first);
                 text.starts_with("__") && text != "__notes__") {
        object.dunder_keys = true;
      }
    }
    return extents_.LooksThrough(ExtentOf(key));
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
    return PushName(cursor_.TextAt(module->first), cursor_.TextAt(name->first));
  }
  bool PushName(std::string_view module, std::string_view name) {
    if (names_.size() >= kMostNames) {
      return TooMuch("more than " + std::to_string(kMostNames) + " names");
    }
    const std::uint32_t number = NameOf(module, name);
    if (!FindsByName(names_[number])) Use(NameUse::Kind::kValue, number);
    return Push({.kind = Kind::kName, .name = number});
  }
  bool Call() {
    const std::optional<Value> arguments = Take();
    const std::optional<Value> callable = Take();
    if (!arguments || !callable || callable->kind != Kind::kName) {
      why_ = "a call of what is no name";
      return false;
    }
    if (!FindsByName(names_[callable->name])) {
      Use(NameUse::Kind::kCall, callable->name);
      const Extent extent = ExtentOf(*arguments);
      if (!extents_.LooksThrough(extent)) return false;
      if (FillsObjects(names_[callable->name])) {
        // Nothing else has the tuple of arguments: it was made for this call.
        if (arguments->in_front == kNoObject || before_ != Op::kTuple2) return false;
        if (!extents_.Grow(arguments->in_front, extent, 1)) return false;
      }
      return PushObject(Kind::kMade, extent, callable->name);
    }
    if (arguments->kind != Kind::kTexts) {
      why_ = "a computed name";
      return false;
    }
    return PushName(cursor_.TextAt(arguments->first), cursor_.TextAt(arguments->second));
  }
  // An object of a class: `parts` says how many values are its arguments.
  bool New(std::size_t parts) {
    Extent extent;
    for (std::size_t i = 0; i < parts; ++i) {
      const std::optional<Value> arguments = Take();
      if (!arguments || !extents_.LooksThrough(ExtentOf(*arguments))) return false;
      extent.Add(ExtentOf(*arguments));
    }
    const std::optional<Value> type = Take();
    if (!type || type->kind != Kind::kName || FindsByName(names_[type->name])) {
      why_ = "an object of what is no name";
      return false;
    }
    Use(NameUse::Kind::kNew, type->name);
    return PushObject(Kind::kMade, extent, type->name);
  }
  bool Build() {
    const std::optional<Value> state = Take();
    const Value* top = Top();
    // A second state could go by a method that the first has given.
    if (!state || top == nullptr || top->kind != Kind::kMade ||
        extents_.at(top->object).has_state) {
      why_ = "a state for what it has not made";
      return false;
    }
    const bool attributes = state->kind == Kind::kDict;
    if ((attributes && extents_.at(state->object).dunder_keys) ||
        (HasAttributes(names_[top->name]) &&
         (!attributes || extents_.at(state->object).odd_keys))) {
      why_ = "a state that is more than attributes";
      return false;
    }
    extents_.at(top->object).has_state = true;
    Use(NameUse::Kind::kBuild, top->name);
    return extents_.Grow(top->object, ExtentOf(*state));
  }

  Cursor cursor_;
  PickleExtents extents_;
  std::size_t buffers_;
  bool stopped_ = false;
  Op before_ = Op::kProto;
  std::string why_;
  bool too_much_ = false;  // it may be an honest pickle
  std::vector<Value> stack_, memo_;
  std::vector<Name> names_;
  std::set<NameUse> uses_;
};

}  // namespace

Result<std::set<NameUse>> NamesInPickle(ByteSpan pickle, std::size_t buffers) {
  return Reader(pickle, buffers).Read();
}

}  // namespace headrace::client
