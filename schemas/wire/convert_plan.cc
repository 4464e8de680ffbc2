#include <utility>

#include "schemas/wire/convert_internal.h"

namespace headrace::wire {
namespace {

// The sources that a peer of the first protocol knows, as kinds of leaf.
constexpr const char* kFiles = "local_dir";
constexpr const char* kArrays = "arrays";

Offset<fb::Arg> WriteArg(Builder& b, const std::string& name, const ArgValue& value) {
  const auto name_offset = WriteText(b, name);
  const auto kind = static_cast<fb::ArgKind>(value.index());
  switch (kind) {
    case fb::ArgKind::Int:
      return fb::CreateArg(b, name_offset, kind, std::get<std::int64_t>(value));
    case fb::ArgKind::Float:
      return fb::CreateArg(b, name_offset, kind, 0, std::get<double>(value));
    case fb::ArgKind::Text: {
      const auto text = WriteText(b, std::get<std::string>(value));
      return fb::CreateArg(b, name_offset, kind, 0, flatbuffers::nullopt, text);
    }
    case fb::ArgKind::Ints: {
      const auto ints = WriteScalars(b, std::get<std::vector<std::int64_t>>(value));
      return fb::CreateArg(b, name_offset, kind, 0, flatbuffers::nullopt, 0, ints);
    }
    case fb::ArgKind::Floats: {
      const auto floats = WriteScalars(b, std::get<std::vector<double>>(value));
      return fb::CreateArg(b, name_offset, kind, 0, flatbuffers::nullopt, 0, 0, floats);
    }
    case fb::ArgKind::Raw:
      break;
  }
  const auto raw = WriteRaw(b, std::get<Bytes>(value));
  return fb::CreateArg(b, name_offset, kind, 0, flatbuffers::nullopt, 0, 0, 0, raw);
}

ArgValue ReadArgValue(Reader& r, const fb::Arg& v) {
  switch (v.kind()) {
    case fb::ArgKind::Int:
      return v.int_value();
    case fb::ArgKind::Float:
      return v.float_value().value_or(0.0);
    case fb::ArgKind::Text:
      return r.Text(v.text());
    case fb::ArgKind::Ints:
      return r.Scalars(v.ints());
    case fb::ArgKind::Floats:
      return r.Scalars(v.floats());
    case fb::ArgKind::Raw:
      return r.Raw(v.raw());
  }
  r.Fail("argument of an unknown kind");
  return std::int64_t{0};
}

// Requires ordered names without duplicates, so that equal plans have equal bytes.
template <typename Map, typename Table, typename ReadValue>
Map ReadMap(Reader& r, const flatbuffers::Vector<Offset<Table>>* tables, ReadValue read_value) {
  Map out;
  if (tables == nullptr) return out;
  for (const Table* table : *tables) {
    std::string name = r.Text(table->name());
    r.Require(out.empty() || out.rbegin()->first < name, "names out of order or twice");
    out.emplace_hint(out.end(), std::move(name), read_value(*table));
  }
  return out;
}

auto WriteArgs(Builder& b, const Args& args) {
  return WriteTables(b, args, [&b](const auto& arg) { return WriteArg(b, arg.first, arg.second); });
}

Args ReadArgs(Reader& r, const flatbuffers::Vector<Offset<fb::Arg>>* args) {
  return ReadMap<Args>(r, args, [&r](const fb::Arg& arg) { return ReadArgValue(r, arg); });
}

Offset<fb::Node> Write(Builder& b, const Node& v) {
  const auto op = WriteText(b, v.op);
  const auto args = WriteArgs(b, v.args);
  const auto label = WriteText(b, v.label);
  const auto reason = WriteText(b, v.reason);
  const auto inputs = WriteScalars(b, v.inputs);
  return fb::CreateNode(b, op, args, static_cast<fb::Purity>(v.purity),
                        static_cast<fb::Form>(v.form), label, reason, inputs);
}

Node Read(Reader& r, const fb::Node* v) {
  Node out;
  out.op = r.Text(v->op());
  out.args = ReadArgs(r, v->args());
  out.purity = r.Enum<Purity>(v->purity(), fb::Purity::MAX, "purity");
  out.form = r.Enum<Form>(v->form(), fb::Form::MAX, "form");
  out.label = r.Text(v->label());
  out.reason = r.Text(v->reason());
  out.inputs = r.Scalars(v->inputs());
  return out;
}

Offset<fb::ArrayColumn> Write(Builder& b, const SourceLeaf::Array& v) {
  const auto row_shape = WriteScalars(b, v.row_shape);
  return fb::CreateArrayColumn(b, v.blob.value, static_cast<fb::DType>(v.dtype), row_shape);
}

SourceLeaf::Array Read(Reader& r, const fb::ArrayColumn* v) {
  SourceLeaf::Array out;
  out.blob = r.ReadId<BlobHash>(v->blob(), "array blob");
  out.dtype = r.Enum<DType>(v->dtype(), fb::DType::MAX, "dtype");
  out.row_shape = r.Scalars(v->row_shape());
  std::uint64_t bytes = DTypeBytes(out.dtype);
  for (const std::int64_t size : out.row_shape) {
    r.Require(size >= 0 && !__builtin_mul_overflow(bytes, static_cast<std::uint64_t>(size), &bytes),
              "row shape");
  }
  return out;
}

Offset<fb::SourceLeaf> Write(Builder& b, const SourceLeaf& v) {
  const auto arrays =
      WriteTables(b, v.arrays, [&b](const SourceLeaf::Array& array) { return Write(b, array); });
  const fb::LeafKind kind = !v.args.empty()       ? fb::LeafKind::Named
                            : v.source == kFiles  ? fb::LeafKind::Files
                            : v.source == kArrays ? fb::LeafKind::Arrays
                                                  : fb::LeafKind::Named;
  if (kind != fb::LeafKind::Named) {
    return fb::CreateSourceLeaf(b, kind, v.rows, v.table.value, arrays);
  }
  const auto source = WriteText(b, v.source);
  return fb::CreateSourceLeaf(b, kind, v.rows, v.table.value, arrays, source, WriteArgs(b, v.args));
}

SourceLeaf Read(Reader& r, const fb::SourceLeaf* v) {
  SourceLeaf out;
  switch (v->kind()) {
    case fb::LeafKind::Files:
      out.source = kFiles;
      break;
    case fb::LeafKind::Arrays:
      out.source = kArrays;
      break;
    case fb::LeafKind::Named:
      out.source = r.Text(v->source());
      r.Require(!out.source.empty(), "a source without name");
      out.args = ReadArgs(r, v->args());
      break;
    default:
      r.Fail("leaf of an unknown kind");
  }
  out.rows = r.NotNegative(v->rows(), "rows");
  out.table = r.ReadId<BlobHash>(v->table(), "file table");
  if (v->arrays() != nullptr) {
    for (const fb::ArrayColumn* array : *v->arrays()) out.arrays.push_back(Read(r, array));
  }
  return out;
}

Offset<fb::PythonStage> Write(Builder& b, const PythonStage& v) {
  const auto executable = WriteText(b, v.executable);
  const auto version = WriteText(b, v.version);
  const auto sys_path = WriteTexts(b, v.sys_path);
  const auto directory = WriteText(b, v.working_directory);
  const auto packages = WriteTables(b, v.packages, [&b](const auto& package) {
    const auto name = WriteText(b, package.first);
    return fb::CreateNamedText(b, name, WriteText(b, package.second));
  });
  const auto hash_seed = WriteText(b, v.hash_seed);
  return fb::CreatePythonStage(b, v.bundle.value, executable, version, sys_path, directory,
                               packages, v.replayed, hash_seed);
}

PythonStage Read(Reader& r, const fb::PythonStage* v) {
  PythonStage out;
  out.bundle = r.ReadId<BlobHash>(v->bundle(), "bundle");
  out.executable = r.Text(v->executable());
  out.version = r.Text(v->version());
  out.sys_path = r.Texts(v->sys_path());
  out.working_directory = r.Text(v->working_directory());
  out.packages = ReadMap<decltype(out.packages)>(
      r, v->packages(), [&r](const fb::NamedText& package) { return r.Text(package.text()); });
  out.replayed = v->replayed();
  out.hash_seed = r.Text(v->hash_seed());
  return out;
}

Offset<fb::ClientLibraries> Write(Builder& b, const ClientLibraries& v) {
  const auto pillow = WriteText(b, v.pillow);
  const auto torch = WriteText(b, v.torch);
  const auto torchvision = WriteText(b, v.torchvision);
  const auto capability = WriteText(b, v.cpu_capability);
  return fb::CreateClientLibraries(b, pillow, torch, torchvision, capability);
}

ClientLibraries Read(Reader& r, const fb::ClientLibraries* v) {
  if (v == nullptr) return {};
  return {.pillow = r.Text(v->pillow()),
          .torch = r.Text(v->torch()),
          .torchvision = r.Text(v->torchvision()),
          .cpu_capability = r.Text(v->cpu_capability())};
}

}  // namespace

Offset<fb::Plan> Write(Builder& b, const Plan& v) {
  const auto name = WriteText(b, v.name);
  const auto leaves =
      WriteTables(b, v.leaves, [&b](const SourceLeaf& leaf) { return Write(b, leaf); });
  const auto chain = WriteTables(b, v.chain, [&b](const Node& node) { return Write(b, node); });
  const auto fields = WriteTables(b, v.fields, [&b](const FieldSpec& field) {
    return fb::CreateFieldSpec(b, static_cast<fb::FieldKind>(field.kind), field.index);
  });
  const auto libraries = Write(b, v.libraries);
  const auto constants = WriteTables(b, v.constants, [&b](const auto& constant) {
    return fb::CreateNamedBlob(b, WriteText(b, constant.first), constant.second.value);
  });
  const Offset<fb::PythonStage> python =
      v.has_python_stage ? Write(b, v.python) : Offset<fb::PythonStage>(0);
  return fb::CreatePlan(b, name, leaves, v.row_map.value, chain, fields,
                        static_cast<fb::RngMode>(v.rng), v.lanes, libraries, constants, python);
}

Plan Read(Reader& r, const fb::Plan* v) {
  Plan out;
  if (v == nullptr) {
    r.Fail("no plan");
    return out;
  }
  out.name = r.Text(v->name());
  std::int64_t rows = 0;
  if (v->leaves() != nullptr) {
    for (const fb::SourceLeaf* leaf : *v->leaves()) {
      out.leaves.push_back(Read(r, leaf));
      r.Require(!__builtin_add_overflow(rows, out.leaves.back().rows, &rows), "rows in all");
    }
  }
  out.row_map = r.ReadId<BlobHash>(v->row_map(), "row map");
  if (v->chain() != nullptr) {
    for (const fb::Node* node : *v->chain()) out.chain.push_back(Read(r, node));
  }
  if (v->fields() != nullptr) {
    for (const fb::FieldSpec* field : *v->fields()) {
      out.fields.push_back(
          {.kind = r.Enum<FieldSpec::Kind>(field->kind(), fb::FieldKind::MAX, "field kind"),
           .index = r.NotNegative(field->index(), "field index")});
    }
  }
  r.Require(CheckGraph(out).ok(), "numbers of nodes");
  out.rng = r.Enum<RngMode>(v->rng(), fb::RngMode::MAX, "rng");
  out.lanes = v->lanes();
  r.Require(out.lanes >= 1, "lanes");
  out.libraries = Read(r, v->libraries());
  out.constants = ReadMap<decltype(out.constants)>(r, v->constants(), [&r](const fb::NamedBlob& c) {
    return r.ReadId<BlobHash>(c.blob(), "constant");
  });
  out.has_python_stage = v->python() != nullptr;
  if (out.has_python_stage) out.python = Read(r, v->python());
  return out;
}

}  // namespace headrace::wire
