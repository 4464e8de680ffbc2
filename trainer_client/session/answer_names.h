#pragma once

#include <set>
#include <string>
#include <vector>

#include "base/result.h"
#include "schemas/wire/data.h"
#include "trainer_client/include/headrace/client.h"
#include "trainer_client/session/pickle_names.h"

namespace headrace::client {

// Which names the pickles of workers elsewhere may use in this session (docs/adr/0049-answers.md).
// Without such a rule a pickle is a program: it may call any function that the trainer has.
//
// Allowed is what was allowed from the beginning, and what answers of this host have used in the same
// way. Not learned so: names of closed modules, whose functions do more than make a value, unless an
// error of this host holds them, as its exception's type. Pure. Reactor thread.
class AnswerNames {
 public:
  // `allowed`: as SessionOptions::answer_names. `closed`: as SessionOptions::closed_modules.
  AnswerNames(const std::vector<std::string>& allowed, const std::vector<std::string>& closed);

  // Learns what an answer of this host uses. `memory`: of its buffers. Does nothing for an answer
  // that no pickler made.
  void Learn(const wire::BatchDone& done, ByteSpan memory);
  // Learns what a pickle of the trainer uses.
  void Learn(ByteSpan pickle);
  // Checks an answer of another host. `shared`: its maker may still write to the memory; a pickle that
  // lies there is taken out of it first. Returns its names. kNotFound: it uses a name in a way that this host has not, but may learn;
  // kUnsupported: one that is never allowed; kDataLoss: it is no pickle; kResourceExhausted: it is beyond
  // a bound of this reader.
  [[nodiscard]] Result<NamesUsed> Check(wire::BatchDone& done, ByteSpan memory, bool shared) const;

 private:
  [[nodiscard]] bool MayLearn(const NameUse& use, bool error) const;
  void LearnFrom(ByteSpan pickle, std::size_t buffers, bool error);

  std::set<NameUse> allowed_;
  std::set<std::string> closed_;  // modules, with those inside of them
};

}  // namespace headrace::client
