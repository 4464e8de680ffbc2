#include "trainer_client/session/answer_names.h"

#include <cstddef>
#include <utility>

namespace headrace::client {
namespace {

// The pickle of a batch: a large one is the last of its buffers (headrace.stage.pickling).
struct Body {
  ByteSpan pickle;
  std::size_t buffers = 0;
};

Body BodyOf(const wire::BatchDone& done, ByteSpan memory) {
  if (!done.pickle.empty() || done.buffer_sizes.empty()) {
    return {done.pickle, done.buffer_sizes.size()};
  }
  return {memory.subspan(done.buffer_offsets.back(), done.buffer_sizes.back()),
          done.buffer_sizes.size() - 1};
}

std::string Sentence(const NameUse& use) {
  const std::string name = use.module + "." + use.name;
  switch (use.kind) {
    case NameUse::Kind::kValue:
      return "it names " + name;
    case NameUse::Kind::kCall:
      return "it calls " + name;
    case NameUse::Kind::kNew:
    case NameUse::Kind::kBuild:
    case NameUse::Kind::kAppend:
    case NameUse::Kind::kSetItem:
      return "it makes a " + name;
  }
  return name;
}

}  // namespace

AnswerNames::AnswerNames(const std::vector<std::string>& allowed,
                         const std::vector<std::string>& closed)
    : closed_(closed.begin(), closed.end()) {
  for (const std::string& text : allowed) {  // "c module name"
    const std::size_t space = text.find(' ', 2);
    if (space == std::string::npos) continue;
    allowed_.insert(
        {static_cast<NameUse::Kind>(text[0]), text.substr(2, space - 2), text.substr(space + 1)});
  }
}

void AnswerNames::Learn(const wire::BatchDone& done, ByteSpan memory) {
  if (!done.python_error.empty()) {
    LearnFrom(done.python_error, 0, true);
    return;
  }
  const Body body = BodyOf(done, memory);
  LearnFrom(body.pickle, body.buffers, false);
}

void AnswerNames::Learn(ByteSpan pickle) { LearnFrom(pickle, 0, false); }

void AnswerNames::LearnFrom(ByteSpan pickle, std::size_t buffers, bool error) {
  const Result<std::set<NameUse>> uses = NamesInPickle(pickle, buffers);
  if (!uses.ok()) return;
  for (const NameUse& use : *uses) {
    if (MayLearn(use, error)) allowed_.insert(use);
  }
}

bool AnswerNames::MayLearn(const NameUse& use, bool error) const {
  if (error && use.kind == NameUse::Kind::kValue) return true;
  return !closed_.contains(use.module.substr(0, use.module.find('.')));
}

Result<NamesUsed> AnswerNames::Check(wire::BatchDone& done, ByteSpan memory, bool shared) const {
  const bool raised = !done.python_error.empty();
  const Body body = BodyOf(done, memory);
  if (shared && !raised && done.pickle.empty() && !body.pickle.empty()) {
    done.pickle.assign(body.pickle.begin(), body.pickle.end());
    done.buffer_sizes.pop_back();
    done.buffer_offsets.pop_back();
  }
  HR_TRY(const std::set<NameUse> uses,
         raised ? NamesInPickle(done.python_error, 0)
                : NamesInPickle(done.pickle.empty() ? body.pickle : ByteSpan(done.pickle),
                                body.buffers));
  NamesUsed names;
  for (const NameUse& use : uses) {
    if (!allowed_.contains(use)) {
      return Status(MayLearn(use, raised) ? Code::kNotFound : Code::kUnsupported, Sentence(use));
    }
    if (use.kind == NameUse::Kind::kValue) names.emplace_back(use.module, use.name);
  }
  return names;
}

}  // namespace headrace::client
