// Composes a plan by headrace/plan_builder.h as JSON on standard input says, and writes it to standard
// output, for tests that compare it with a plan of the Python package. It includes public headers alone.
//
//   build_plan                         {"source": ..., "calls": [["Then", "resize", {"size": 8}], ...], ...}
//   build_plan --batches FOLDER        also {"batches": [[0, 1], ...], "base_seed": 1}; each field of each
//                                      batch becomes a file of its bytes, "0-1"
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "headrace/client.h"
#include "headrace/plan_builder.h"
#include "headrace/plan_source.h"

namespace {

using headrace::Arg;
using headrace::ArgValue;
using headrace::PlanBuilder;
using headrace::PlanSource;
using headrace::Result;
using headrace::Status;
using Json = nlohmann::json;

ArgValue ValueOf(const Json& json) {
  if (json.is_string()) return json.get<std::string>();
  if (json.is_boolean()) return std::int64_t{json.get<bool>() ? 1 : 0};
  if (json.is_number_integer()) return json.get<std::int64_t>();
  if (json.is_number()) return json.get<double>();
  const bool whole =
      std::ranges::all_of(json, [](const Json& one) { return one.is_number_integer(); });
  if (whole) return json.get<std::vector<std::int64_t>>();
  return json.get<std::vector<double>>();
}

headrace::StepArgs ArgsOf(const Json& json) {
  headrace::StepArgs args;
  for (const auto& [name, value] : json.items()) args.emplace_back(name, Arg(ValueOf(value)));
  return args;
}

headrace::DType TypeOf(const std::string& name) {
  const std::map<std::string, headrace::DType> types{{"uint8", headrace::DType::kU8},
                                                     {"int64", headrace::DType::kI64},
                                                     {"float32", headrace::DType::kF32}};
  return types.at(name);
}

headrace::Blob ReadFile(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  auto bytes = std::make_shared<std::string>(std::istreambuf_iterator<char>(file),
                                             std::istreambuf_iterator<char>());
  return {headrace::AsBytes(*bytes), bytes};
}

headrace::StoreOptions StoreOf(const Json& said) {
  headrace::StoreOptions store;
  store.base = said.at("base");
  store.endpoint = said.value("endpoint", "");
  store.region = said.value("region", "");
  store.addressing = said.value("addressing", "");
  store.anonymous = said.value("anonymous", false);
  return store;
}

Result<PlanSource> SourceOf(const Json& said) {
  const std::string kind = said.at("kind");
  if (kind == "folder") return headrace::ImageFolderSource(said.at("root"));
  if (kind == "tars") return headrace::TarSource(said.at("paths"), {});
  if (kind == "zips") {
    headrace::ZipOptions options;
    options.folder = said.value("folder", "");
    return headrace::ZipSource(said.at("paths"), options);
  }
  if (kind == "files")
    return headrace::FilesSource(said.at("root"), said.at("paths"), said.at("labels"));
  if (kind == "groups") {
    return headrace::FileGroupsSource(said.at("root"), said.at("rows"), said.at("labels"));
  }
  if (kind == "objects") {
    return headrace::ObjectsSource(StoreOf(said), said.at("names"), said.at("labels"));
  }
  if (kind == "join") {
    std::vector<PlanSource> sources;
    for (const Json& one : said.at("sources")) {
      HR_TRY(PlanSource source, SourceOf(one));
      sources.push_back(std::move(source));
    }
    return headrace::JoinSources(std::move(sources));
  }
  if (kind == "npy") {
    std::vector<headrace::FileColumn> columns;
    std::int64_t rows = 0;
    for (const Json& path : said.at("paths")) {
      HR_TRY(headrace::NpyRows read, headrace::NpyColumn(path));
      rows = read.rows;
      columns.push_back(std::move(read.column));
    }
    return headrace::ArrayFilesSource(rows, columns);
  }
  if (kind == "array_files") {
    std::vector<headrace::FileColumn> columns;
    for (const Json& one : said.at("columns")) {
      columns.push_back({one.at("path"), one.at("first"), one.at("stride"), TypeOf(one.at("dtype")),
                         one.at("row_shape"), one.value("elements", "")});
    }
    return headrace::ArrayFilesSource(said.at("rows"), columns);
  }
  if (kind == "arrays") {
    std::vector<headrace::ArrayColumn> columns;
    for (const Json& one : said.at("columns")) {
      columns.push_back({TypeOf(one.at("dtype")), one.at("row_shape"), ReadFile(one.at("path"))});
    }
    return headrace::ArraysSource(said.at("rows"), columns);
  }
  return headrace::InvalidArgument("no source " + kind);
}

std::vector<headrace::StepValue> ValuesOf(const Json& steps) {
  std::vector<headrace::StepValue> values;
  for (const Json& step : steps) values.push_back({step.get<std::int32_t>()});
  return values;
}

void Call(PlanBuilder& builder, const Json& call) {
  const std::string name = call.at(0);
  if (name == "Then") builder.Then(call.at(1), ArgsOf(call.at(2)));
  if (name == "Stack") builder.Stack(ValuesOf(call.at(1)));
  if (name == "From") builder.From({call.at(1).get<std::int32_t>()});
  if (name == "FromSample") builder.FromSample();
  if (name == "Field") builder.Field();
  if (name == "ListField") builder.ListField();
  if (name == "LabelField") builder.LabelField();
  if (name == "ArrayField") builder.ArrayField(call.at(1));
  if (name == "Rows") builder.Rows(call.at(1).get<std::vector<std::int64_t>>());
}

// The exp of the torch that measured the constant of a Python plan: the arguments whose exp is not rounded
// correctly, and then the exp of each. The rest is rounded correctly.
PlanBuilder::Exp ExpOf(const std::string& path) {
  const headrace::Blob blob = ReadFile(path);
  const std::size_t count = blob.data.size() / sizeof(float) / 2;
  std::vector<float> numbers(2 * count);
  std::memcpy(numbers.data(), blob.data.data(), 2 * count * sizeof(float));
  const auto other = std::make_shared<std::map<float, float>>();
  for (std::size_t i = 0; i < count; ++i) (*other)[numbers[i]] = numbers[count + i];
  return [other](std::span<const float> in, std::span<float> out) {
    std::ranges::transform(in, out.begin(), [&](float x) {
      const auto found = other->find(x);
      return found != other->end() ? found->second
                                   : static_cast<float>(std::exp(static_cast<double>(x)));
    });
    return Status::Ok();
  };
}

Json JsonOf(const headrace::Args& args) {
  Json json = Json::object();
  for (const auto& [name, value] : args) {
    json[name] = std::visit(
        [](const auto& one) -> Json {
          if constexpr (std::is_same_v<std::decay_t<decltype(one)>, headrace::Bytes>) {
            return nullptr;
          } else {
            return one;
          }
        },
        value);
  }
  return json;
}

Json JsonOf(const headrace::Plan& plan) {
  const char* purities[] = {"pure", "random", "stateful"};
  const char* kinds[] = {"chain", "array", "value", "list"};
  const char* modes[] = {"none", "torch", "sample"};
  Json json{{"name", plan.name},       {"rng", modes[static_cast<int>(plan.rng)]},
            {"lanes", plan.lanes},     {"row_map", plan.row_map.value},
            {"chain", Json::array()},  {"fields", Json::array()},
            {"leaves", Json::array()}, {"constants", Json::object()}};
  for (const headrace::Node& node : plan.chain) {
    json["chain"].push_back({{"op", node.op},
                             {"args", JsonOf(node.args)},
                             {"purity", purities[static_cast<int>(node.purity)]},
                             {"inputs", node.inputs}});
  }
  for (const headrace::FieldSpec& field : plan.fields) {
    json["fields"].push_back(
        {{"kind", kinds[static_cast<int>(field.kind)]}, {"index", field.index}});
  }
  for (const headrace::SourceLeaf& leaf : plan.leaves) {
    Json arrays = Json::array();
    for (const auto& array : leaf.arrays) {
      arrays.push_back({{"blob", array.blob.value},
                        {"dtype", static_cast<int>(array.dtype)},
                        {"row_shape", array.row_shape}});
    }
    json["leaves"].push_back({{"source", leaf.source},
                              {"args", JsonOf(leaf.args)},
                              {"rows", leaf.rows},
                              {"table", leaf.table.value},
                              {"arrays", arrays}});
  }
  for (const auto& [name, hash] : plan.constants) json["constants"][name] = hash.value;
  return json;
}

Result<headrace::BuiltPlan> Build(const Json& said) {
  HR_TRY(PlanSource source, SourceOf(said.at("source")));
  PlanBuilder builder(std::move(source));
  for (const Json& call : said.at("calls")) Call(builder, call);
  if (said.contains("rng")) {
    builder.Random(
        said.at("rng") == "torch" ? headrace::RngMode::kTorch : headrace::RngMode::kSample,
        said.value("lanes", 1));
  }
  if (said.contains("libraries")) {
    const Json& of = said.at("libraries");
    builder.Libraries({of.at(0), of.at(1), of.at(2), of.at(3)});
  }
  if (said.contains("exp")) builder.TorchExp(ExpOf(said.at("exp")));
  return builder.Build();
}

Status WriteBatches(const headrace::BuiltPlan& built, const Json& said, const std::string& folder) {
  headrace::ClientOptions options;
  options.binary = std::getenv("HEADRACE_BINARY");
  HR_TRY(const auto client, headrace::Client::Open(options));
  headrace::SessionOptions session_options;
  session_options.max_outstanding = static_cast<std::int64_t>(said.at("batches").size());
  HR_TRY(const auto session, client->OpenSession(built.plan, built.blobs, session_options));
  headrace::IterationOptions iteration;
  iteration.base_seed = said.at("base_seed");
  HR_RETURN_IF_ERROR(session->Begin(iteration));
  for (const Json& keys : said.at("batches")) {
    HR_RETURN_IF_ERROR(session->Submit(keys.get<std::vector<std::int64_t>>()).status());
  }
  while (session->outstanding() > 0) {
    auto event = session->Next(std::chrono::seconds(1));
    if (event.status().code() == headrace::Code::kDeadlineExceeded) continue;
    if (!event.ok()) return event.status();
    if (!event->batch) return headrace::Internal("a sample that no worker can make");
    for (const auto& missing : event->batch->missing) return headrace::Internal(missing.message);
    for (std::size_t f = 0; f < event->batch->fields.size(); ++f) {
      const auto bytes = event->batch->fields[f].data;
      std::ofstream(folder + "/" + std::to_string(event->batch->batch) + "-" + std::to_string(f),
                    std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
  }
  return Status::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  const Json said = Json::parse(std::cin);
  const auto built = Build(said);
  Status status = built.status();
  if (status.ok() && argc == 3) status = WriteBatches(*built, said, argv[2]);
  if (!status.ok()) {
    std::cerr << status.ToString() << "\n";
    return 1;
  }
  std::cout << JsonOf(built->plan).dump() << "\n";
  return 0;
}
