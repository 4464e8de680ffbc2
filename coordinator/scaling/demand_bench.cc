#include <benchmark/benchmark.h>

#include "coordinator/scaling/demand_scenes.h"

// Figures of docs/evaluation.md (T8): what the controller makes of what trainers do. The time is that of
// one period of one job, its world included.
namespace headrace::coordinator {
namespace {

constexpr unsigned kSeeds = 20;

void Scene(benchmark::State& state, const NamedScene& scene) {
  DemandFigures figures;
  for (auto _ : state) figures = MeasureScene(scene.scene, kSeeds);
  state.SetItemsProcessed(state.iterations() * kSeeds * 1860);
  state.counters["mean"] = figures.mean;
  state.counters["least"] = figures.least;
  state.counters["most"] = figures.most;
  state.counters["moves"] = figures.moves;
  state.counters["turns"] = figures.turns;
  state.counters["wait"] = figures.wait;
}

// The registration is called once, from main.
void RegisterScenes() {
  for (const NamedScene& scene : DemandScenes()) {
    benchmark::RegisterBenchmark(scene.name.c_str(), [scene](benchmark::State& state) {
      Scene(state, scene);
    })->Unit(benchmark::kMillisecond);
  }
}

}  // namespace
}  // namespace headrace::coordinator

int main(int argc, char** argv) {
  headrace::coordinator::RegisterScenes();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
