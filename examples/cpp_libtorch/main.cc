// Trains a small net with LibTorch on pictures that Headrace reads, decodes and augments: a folder with one
// subfolder for each class, as torchvision's ImageFolder.
//
//   cpp_libtorch FOLDER [EPOCHS [FILE]]      FILE: the first batch's pictures are written there, as bytes
//
// The batches are those of this loader in Python, bit for bit:
//
//   transform = Compose([RandomResizedCrop(32), RandomHorizontalFlip(), ToTensor(), Normalize(MEAN, STD)])
//   DataLoader(ImageFolder(FOLDER, transform), batch_size=16, shuffle=True, num_workers=2,
//              persistent_workers=False, generator=torch.Generator().manual_seed(1))
//
// HEADRACE_COORDINATOR names a running coordinator. Without it, a private one and a local worker are started
// from the program `headrace` (HEADRACE_BINARY, or from PATH), and end with this program.
#include <torch/torch.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "headrace/client.h"
#include "headrace/plan_builder.h"
#include "headrace/plan_source.h"

namespace {

constexpr std::int64_t kBatchSize = 16;
constexpr std::int64_t kSide = 32;     // pixels
constexpr std::int32_t kLanes = 2;     // num_workers of the loader in Python
constexpr std::int64_t kPrefetch = 4;  // batches
constexpr std::uint64_t kSeed = 1;

std::string Environment(const char* name, const char* otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

// torch.exp, which draws of crops go through.
headrace::Status Exp(std::span<const float> in, std::span<float> out) {
  const auto size = static_cast<std::int64_t>(in.size());
  torch::Tensor made = torch::from_blob(out.data(), {size}, torch::kFloat32);
  const torch::Tensor of = torch::from_blob(const_cast<float*>(in.data()), {size}, torch::kFloat32);
  torch::exp_out(made, of);
  return headrace::Status::Ok();
}

// torch.log of the bounds of a crop's width / height, which torch does not round correctly either.
std::vector<double> LogRatio() {
  const torch::Tensor logs = torch::tensor({3.0 / 4, 4.0 / 3}, torch::kFloat32).log();
  return {logs[0].item<double>(), logs[1].item<double>()};
}

headrace::Result<headrace::BuiltPlan> MakePlan(const std::string& root) {
  HR_TRY(headrace::PlanSource source, headrace::ImageFolderSource(root));
  return headrace::PlanBuilder(std::move(source))
      .Then("decode")
      .Then("random_resized_crop", {{"size", kSide}, {"log_ratio", LogRatio()}})
      .Then("random_horizontal_flip")
      .Then("to_tensor")
      .Then("normalize", {{"mean", {0.485, 0.456, 0.406}}, {"std", {0.229, 0.224, 0.225}}})
      .Field()
      .LabelField()
      .Random(headrace::RngMode::kTorch, kLanes)
      .Libraries({"13.0.0", TORCH_VERSION, "0.28.0", at::get_cpu_capability()})
      .TorchExp(Exp)
      .Build();
}

// A field as a tensor on the batch's own memory. The tensor and its views keep that memory; the slot is free
// for another batch when the last one is gone.
torch::Tensor TensorOf(const headrace::Batch& batch, std::size_t field, torch::ScalarType type) {
  const headrace::BatchField& of = batch.fields[field];
  torch::Tensor tensor = torch::from_blob(
      of.data.data(), of.shape, [hold = batch.hold](void*) {}, torch::TensorOptions(type));
  return batch.copy_advised ? tensor.clone() : tensor;  // few slots are left for workers
}

struct Net : torch::nn::Module {
  explicit Net(std::int64_t classes)
      : first(register_module("first",
                              torch::nn::Conv2d(torch::nn::Conv2dOptions(3, 8, 3).stride(2)))),
        second(register_module("second",
                               torch::nn::Conv2d(torch::nn::Conv2dOptions(8, 16, 3).stride(2)))),
        last(register_module("last", torch::nn::Linear(16, classes))) {}
  torch::Tensor forward(torch::Tensor x) {
    x = torch::relu(second(torch::relu(first(x))));
    return last(x.mean({2, 3}));
  }
  torch::nn::Conv2d first, second;
  torch::nn::Linear last;
};

// What torch's DataLoader draws from its generator for an epoch: the seed of its workers, and then the order.
struct Epoch {
  std::uint64_t base_seed = 0;
  std::vector<std::int64_t> order;
};
Epoch DrawEpoch(at::Generator& generator, std::int64_t samples) {
  Epoch epoch;
  const torch::Tensor seed = torch::empty({}, torch::kInt64).random_(generator);
  epoch.base_seed = static_cast<std::uint64_t>(seed.item<std::int64_t>());
  const torch::Tensor order = torch::randperm(samples, generator, torch::kInt64);
  epoch.order.assign(order.data_ptr<std::int64_t>(), order.data_ptr<std::int64_t>() + samples);
  return epoch;
}

// The next batch. kInternal: a sample that no worker can make, such as a damaged file.
headrace::Result<headrace::Batch> NextBatch(headrace::Session& session) {
  while (true) {
    auto event = session.Next(std::chrono::seconds(1));
    if (event.status().code() == headrace::Code::kDeadlineExceeded) continue;
    if (!event.ok()) return event.status();
    if (event->sample) return headrace::Internal("a sample that no worker can make");
    if (!event->batch) continue;
    if (!event->batch->missing.empty()) {
      return headrace::Internal(event->batch->missing.front().message);
    }
    return std::move(*event->batch);
  }
}

// Trains for an epoch and returns the mean loss of its samples.
headrace::Result<double> Train(headrace::Session& session, const Epoch& epoch, Net& net,
                               torch::optim::Optimizer& optimizer, std::string& first_batch) {
  headrace::IterationOptions iteration;
  iteration.base_seed = epoch.base_seed;
  HR_RETURN_IF_ERROR(session.Begin(iteration));
  std::size_t submitted = 0;
  double sum = 0;
  while (submitted < epoch.order.size() || session.outstanding() > 0) {
    while (submitted < epoch.order.size() && session.outstanding() < kPrefetch) {
      const std::size_t size = std::min<std::size_t>(kBatchSize, epoch.order.size() - submitted);
      HR_RETURN_IF_ERROR(session.Submit({epoch.order.data() + submitted, size}).status());
      submitted += size;
    }
    HR_TRY(const headrace::Batch batch, NextBatch(session));
    const torch::Tensor pictures = TensorOf(batch, 0, torch::kFloat32);
    const torch::Tensor labels = TensorOf(batch, 1, torch::kInt64);
    if (!first_batch.empty()) {
      const auto bytes = batch.fields[0].data;
      std::ofstream(std::exchange(first_batch, {}), std::ios::binary)
          .write(reinterpret_cast<const char*>(bytes.data()),
                 static_cast<std::streamsize>(bytes.size()));
    }
    optimizer.zero_grad();
    const torch::Tensor loss = torch::nn::functional::cross_entropy(net.forward(pictures), labels);
    loss.backward();
    optimizer.step();
    sum += loss.item<double>() * static_cast<double>(labels.size(0));
  }
  return sum / static_cast<double>(epoch.order.size());
}

headrace::Status Run(const std::string& root, int epochs, std::string first_batch) {
  HR_TRY(const headrace::BuiltPlan built, MakePlan(root));
  std::printf("%s: %lld pictures of %zu classes\n", root.c_str(),
              static_cast<long long>(built.samples), built.classes.size());
  headrace::ClientOptions client_options;
  client_options.coordinator = Environment("HEADRACE_COORDINATOR", "");
  client_options.workers = client_options.coordinator.empty() ? 1 : 0;  // 0: all that there are
  client_options.binary = Environment("HEADRACE_BINARY", "headrace");
  client_options.job_name = "cpp_libtorch";
  HR_TRY(const std::shared_ptr<headrace::Client> client, headrace::Client::Open(client_options));
  headrace::SessionOptions session_options;
  session_options.max_outstanding = kPrefetch;
  HR_TRY(const std::unique_ptr<headrace::Session> session,
         client->OpenSession(built.plan, built.blobs, session_options));
  torch::manual_seed(kSeed);
  Net net(static_cast<std::int64_t>(built.classes.size()));
  torch::optim::Adam optimizer(net.parameters(), torch::optim::AdamOptions(0.01));
  at::Generator generator = at::detail::createCPUGenerator(kSeed);
  for (int i = 0; i < epochs; ++i) {
    HR_TRY(const double loss,
           Train(*session, DrawEpoch(generator, built.samples), net, optimizer, first_batch));
    std::printf("epoch %d: loss %.4f\n", i, loss);
  }
  return headrace::Status::Ok();
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2 || argc > 4) {
    std::fprintf(stderr, "usage: cpp_libtorch FOLDER [EPOCHS [FILE]]\n");
    return 2;
  }
  const headrace::Status status =
      Run(argv[1], argc > 2 ? std::atoi(argv[2]) : 2, argc > 3 ? argv[3] : "");
  if (status.ok()) return 0;
  std::fprintf(stderr, "cpp_libtorch: %s\n", status.ToString().c_str());
  return 1;
}
