#include <string>

#include "benchmark/benchmark.h"
#include "schemas/wire/message.h"

// The messages of the hot path (one of each a batch), and the table of a large data set.
namespace headrace::wire {
namespace {

BatchRequest Request() {
  BatchRequest request;
  request.session = SessionId(1LL << 62);
  request.iteration = IterationId(3);
  request.batch = BatchId(1000);
  for (int i = 0; i < 64; ++i) request.keys.push_back(i * 7919);
  for (int i = 0; i < 64 * 6; ++i) request.params.push_back(i * 31);
  request.slot = SlotId(5);
  request.slot_bytes = 1 << 25;
  return request;
}

BatchDone Done() {
  BatchDone done;
  done.session = SessionId(1LL << 62);
  done.iteration = IterationId(3);
  done.batch = BatchId(1000);
  done.used_bytes = 64 * 3 * 224 * 224 + 512;
  done.fields = {{.dtype = DType::kU8, .shape = {64, 3, 224, 224}, .offset = 0},
                 {.dtype = DType::kI64, .shape = {64}, .offset = 64 * 3 * 224 * 224}};
  return done;
}

template <typename Make>
void EncodeBody(benchmark::State& state, Make make) {
  const Body body = make();
  for (auto _ : state) benchmark::DoNotOptimize(Encode(body));
}
template <typename Make>
void DecodeBody(benchmark::State& state, Make make) {
  const EncodedMessage message = Encode(make());
  for (auto _ : state) benchmark::DoNotOptimize(Decode(message.header, message.body));
}
BENCHMARK_CAPTURE(EncodeBody, batch_request, Request);
BENCHMARK_CAPTURE(DecodeBody, batch_request, Request);
BENCHMARK_CAPTURE(EncodeBody, batch_done, Done);
BENCHMARK_CAPTURE(DecodeBody, batch_done, Done);

FileTable ImageNet() {
  FileTable table{.root = "/data/imagenet/train"};
  for (int i = 0; i < 1'281'167; ++i) {
    table.paths.push_back("n0" + std::to_string(1440764 + i / 1300) + "/n0" +
                          std::to_string(1440764 + i / 1300) + "_" + std::to_string(i) + ".JPEG");
    table.labels.push_back(i / 1300);
  }
  return table;
}
void EncodeTable(benchmark::State& state) {
  const FileTable table = ImageNet();
  for (auto _ : state) benchmark::DoNotOptimize(EncodeFileTable(table));
}
void OpenTable(benchmark::State& state) {
  const Bytes bytes = EncodeFileTable(ImageNet());
  for (auto _ : state) benchmark::DoNotOptimize(FileTableView::Open(bytes));
}
void ReadPath(benchmark::State& state) {
  const Bytes bytes = EncodeFileTable(ImageNet());
  const FileTableView view = *FileTableView::Open(bytes);
  std::int64_t row = 0;
  for (auto _ : state) {
    row = (row + 7919) % view.size();
    benchmark::DoNotOptimize(view.Path(row));
  }
}
BENCHMARK(EncodeTable)->Unit(benchmark::kMillisecond);
BENCHMARK(OpenTable)->Unit(benchmark::kMillisecond);
BENCHMARK(ReadPath);

}  // namespace
}  // namespace headrace::wire

BENCHMARK_MAIN();
