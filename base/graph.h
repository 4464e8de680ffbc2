#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <variant>
#include <vector>

#include "base/buffer.h"
#include "base/export.h"
#include "base/ids.h"
#include "base/result.h"

// The preprocessing graph as plain data. Capture makes it, the coordinator splits it, workers
// compile it, and the client draws its random numbers. FlatBuffers form: schemas/fbs/plan.fbs.
namespace headrace {

// Element types. Values are wire values: append only.
enum class DType : std::uint8_t {
  kU8 = 0,
  kI8 = 1,
  kI16 = 2,
  kI32 = 3,
  kI64 = 4,
  kF16 = 5,
  kF32 = 6,
  kF64 = 7,
  kBool = 8,
  kBF16 = 9,
};
// Bytes of one element; 0 for a value that this build does not know.
[[nodiscard]] constexpr std::size_t DTypeBytes(DType type) {
  switch (type) {
    case DType::kU8:
    case DType::kI8:
    case DType::kBool:
      return 1;
    case DType::kI16:
    case DType::kF16:
    case DType::kBF16:
      return 2;
    case DType::kI32:
    case DType::kF32:
      return 4;
    case DType::kI64:
    case DType::kF64:
      return 8;
  }
  return 0;
}

enum class Purity : std::uint8_t {
  kPure = 0,      // same input, same output
  kRandom = 1,    // stateless, given its draws
  kStateful = 2,  // must stay in the trainer
};
enum class Form : std::uint8_t { kNative = 0, kPython = 1 };

using ArgValue = std::variant<std::int64_t, double, std::string, std::vector<std::int64_t>,
                              std::vector<double>, Bytes>;
using Args = std::map<std::string, ArgValue>;

// One operator. What it makes of a sample is its value. A plan lists its nodes in the order in which
// the program applies them, which is the order of their draws.
struct Node {
  std::string op;  // registry name: "decode", "random_resized_crop", ...
  Args args;
  Purity purity = Purity::kPure;
  Form form = Form::kNative;
  std::string label;   // text of the user: "RandomResizedCrop(size=(224, 224), ...)"
  std::string reason;  // why it is not native, or must stay; empty otherwise
  // The values that it takes, by the numbers of the nodes that make them. Empty: the value of the
  // node before it, or the sample's source for the first node. {kSource}: the sample's source, for
  // a later node. It never says {number - 1}, so that equal plans are equal.
  std::vector<std::int32_t> inputs;

  static constexpr std::int32_t kSource = -1;

  friend bool operator==(const Node&, const Node&) = default;
};

// The client's libraries whose versions affect the bits of a batch.
struct ClientLibraries {
  std::string pillow;       // "13.0.0"
  std::string torch;        // "2.13.0+cpu"
  std::string torchvision;  // "0.28.0"
  std::string
      cpu_capability;  // torch.backends.cpu.get_cpu_capability(): "AVX512", "AVX2", "DEFAULT"

  friend bool operator==(const ClientLibraries&, const ClientLibraries&) = default;
};

// Where samples come from. Rows of several leaves are numbered one after the other.
struct SourceLeaf {
  struct Array {
    BlobHash blob;
    DType dtype = DType::kU8;
    std::vector<std::int64_t> row_shape;  // shape of one row; {} for a scalar

    friend bool operator==(const Array&, const Array&) = default;
  };
  // Fields of a sample: its arrays; without arrays, an encoded file and its int64 label.
  [[nodiscard]] std::size_t columns() const { return arrays.empty() ? 2 : arrays.size(); }

  std::string source = "local_dir";  // registry name: a folder of dataworker/source
  Args args;                         // of the source, as an operator has them
  std::int64_t rows = 0;
  BlobHash table;             // the paths of files (FileTable in schemas/fbs); invalid: none
  std::vector<Array> arrays;  // rows in memory, row-major: array i is field i of the sample
  friend bool operator==(const SourceLeaf&, const SourceLeaf&) = default;
};

// Files of a row: the argument "files" of the source file_groups, and 1 for any other one.
// kInvalidArgument: not a number from 2 to FileGroup::kMost.
HEADRACE_PUBLIC [[nodiscard]] Result<int> FilesOf(const SourceLeaf& leaf);

// One field of a sample, in output order. The batch stacks it to a tensor [B, ...], unless it is a
// list: then each sample has its own shape.
struct FieldSpec {
  enum class Kind : std::uint8_t {
    kChain = 0,  // the value of the last node, in a plan whose nodes have no inputs
    kArray = 1,  // array `index` of the leaf; of a leaf of files, the int64 label (index 1)
    kValue = 2,  // the value of node `index`
    kList = 3,   // the same, as a list of tensors
  };
  Kind kind = Kind::kChain;
  std::int32_t index = 0;
  friend bool operator==(const FieldSpec&, const FieldSpec&) = default;
};

enum class RngMode : std::uint8_t {
  kNone = 0,  // nothing in the plan draws
  kTorch =
      1,  // the stock DataLoader's streams: one generator a lane, drawn by the client's planner
  kSample = 2,  // generators seeded for each sample from (base seed, key, occurrence)
};

// Python code that stage hosts run on the worker when the pipeline has no native form.
struct PythonStage {
  // cloudpickle of (dataset, collate_fn, worker_init_fn, ...). Invalid: the code runs only on the
  // trainer's host, in processes that the trainer starts (Session::SetLanes).
  BlobHash bundle;
  std::string executable;  // the trainer's sys.executable; used on the trainer's own host
  std::string version;     // "3.11": a worker with another minor version must refuse
  std::vector<std::string> sys_path;
  std::string working_directory;
  std::map<std::string, std::string> packages;  // name -> version that must be importable
  // PYTHONHASHSEED that the interpreter must have been started with; empty: any.
  std::string hash_seed;
  // True for an iterable data set: each lane is an iterator that can't travel and ends by itself.
  bool replayed = false;
  friend bool operator==(const PythonStage&, const PythonStage&) = default;
};

// Everything that decides the bits of a batch, except (base seed, batch number, keys).
struct Plan {
  std::string name;                // for people: "ImageFolder(/data/train)"
  std::vector<SourceLeaf> leaves;  // empty for a Python plan
  BlobHash row_map;                // key -> row as int64[]; invalid: key == row
  std::vector<Node> chain;         // the graph: a chain, unless a node has inputs
  std::vector<FieldSpec> fields;
  RngMode rng = RngMode::kNone;
  std::int32_t lanes = 1;  // virtual DataLoader workers; at least 1
  ClientLibraries libraries;
  std::map<std::string, BlobHash>
      constants;  // "torch_exp": exception table, see ops/torch/torch_exp.h
  bool has_python_stage = false;
  PythonStage python;
  friend bool operator==(const Plan&, const Plan&) = default;
};

// The number of the node whose value a field is; -1: it is none, or the plan has no node.
HEADRACE_PUBLIC [[nodiscard]] std::int32_t NodeOf(const Plan& plan, const FieldSpec& field);
// True if a field is a list.
HEADRACE_PUBLIC [[nodiscard]] bool HasLists(const Plan& plan);
// The nodes whose values are fields, each once, in the order of the fields.
HEADRACE_PUBLIC [[nodiscard]] std::vector<std::int32_t> ValuesOf(const Plan& plan);
// Those of them that are lists alone.
HEADRACE_PUBLIC [[nodiscard]] std::vector<std::int32_t> ListsOf(const Plan& plan);
// True if the plan is no single chain: a node has inputs, or a field names its node.
HEADRACE_PUBLIC [[nodiscard]] bool HasGraph(const Plan& plan);
// Checks the numbers in inputs and fields. kInvalidArgument: one that is out of place. A field of
// kind kChain beside inputs is, too: a peer that knows no inputs would take the nodes for a chain.
HEADRACE_PUBLIC [[nodiscard]] Status CheckGraph(const Plan& plan);

}  // namespace headrace
