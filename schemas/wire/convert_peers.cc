#include <algorithm>

#include "schemas/wire/convert_internal.h"

// What workers say to each other of the samples that they keep.
namespace headrace::wire {
namespace {

constexpr std::size_t kWords = std::tuple_size_v<EntryWords>;

VectorOffset<std::uint64_t> WriteKeys(Builder& b, const EntryWords* keys, std::size_t count) {
  if (count == 0) return 0;
  return b.CreateVector(keys->data(), count * kWords);
}

std::vector<EntryWords> ReadKeys(Reader& r, const flatbuffers::Vector<std::uint64_t>* items) {
  const std::vector<std::uint64_t> words = r.Scalars(items);
  r.Require(words.size() % kWords == 0 && words.size() / kWords <= kMaxPeerKeys, "keys");
  std::vector<EntryWords> keys(words.size() / kWords);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    std::copy_n(words.begin() + static_cast<std::ptrdiff_t>(i * kWords), kWords, keys[i].begin());
  }
  return keys;
}

}  // namespace

Offset<fb::PeerFind> Write(Builder& b, const PeerFind& v) {
  const auto pass = WriteText(b, v.pass);
  const auto keys = WriteKeys(b, v.keys.data(), v.keys.size());
  return fb::CreatePeerFind(b, v.request, v.worker.value, v.job.value, pass, keys, v.wait, v.take,
                            v.offer);
}

PeerFind Read(Reader& r, const fb::PeerFind* v) {
  return {.request = v->request(),
          .worker = r.ReadId<WorkerId>(v->worker(), "worker"),
          .job = r.ReadId<JobId>(v->job(), "job"),
          .pass = r.Text(v->pass()),
          .keys = ReadKeys(r, v->keys()),
          .wait = v->wait(),
          .take = v->take(),
          .offer = v->offer()};
}

Offset<fb::PeerFound> Write(Builder& b, const PeerFound& v) {
  const auto status = Write(b, v.status);
  std::vector<std::uint8_t> bytes;
  for (const PeerAnswer answer : v.answers) bytes.push_back(static_cast<std::uint8_t>(answer));
  const auto answers = WriteScalars(b, bytes);
  const auto sizes = WriteScalars(b, v.sizes);
  const auto costs = WriteScalars(b, v.costs_ns);
  return fb::CreatePeerFound(b, v.request, status, answers, sizes, costs);
}

PeerFound Read(Reader& r, const fb::PeerFound* v) {
  PeerFound out{.request = v->request(),
                .status = Read(r, v->status()),
                .answers = {},
                .sizes = r.Scalars(v->sizes()),
                .costs_ns = r.Scalars(v->costs_ns())};
  const std::vector<std::uint8_t> answers = r.Scalars(v->answers());
  r.Require(answers.size() <= kMaxPeerKeys, "answers");
  for (const std::uint8_t answer : answers) {
    r.Require(answer <= static_cast<std::uint8_t>(PeerAnswer::kSoon), "answer");
    out.answers.push_back(static_cast<PeerAnswer>(answer));
  }
  r.Require(std::ssize(out.sizes) == std::ranges::count(out.answers, PeerAnswer::kFound),
            "sizes and found entries of unequal length");
  r.Require(out.costs_ns.empty() || out.costs_ns.size() == out.sizes.size(),
            "sizes and costs of unequal length");
  return out;
}

Offset<fb::PeerPut> Write(Builder& b, const PeerPut& v) {
  const auto pass = WriteText(b, v.pass);
  const auto key = WriteKeys(b, &v.key, 1);
  return fb::CreatePeerPut(b, v.worker.value, v.job.value, pass, key, v.made, v.cost_ns);
}

PeerPut Read(Reader& r, const fb::PeerPut* v) {
  PeerPut out{.worker = r.ReadId<WorkerId>(v->worker(), "worker"),
              .job = r.ReadId<JobId>(v->job(), "job"),
              .pass = r.Text(v->pass()),
              .made = v->made(),
              .cost_ns = v->cost_ns()};
  const std::vector<EntryWords> keys = ReadKeys(r, v->key());
  r.Require(keys.size() == 1, "key");
  if (keys.size() == 1) out.key = keys.front();
  return out;
}

}  // namespace headrace::wire
