#include "simulate/plot.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <initializer_list>
#include <string_view>

namespace headrace::simulate {
namespace {

constexpr double kWidth = 760, kHeight = 400;
constexpr double kLeft = 70, kRight = 20, kTop = 40, kBottom = 55;
constexpr std::array<const char*, 4> kColours = {"#0b6e99", "#d9730d", "#448361", "#9065b0"};
// Number of steps in which time is drawn: more cannot be seen.
constexpr std::size_t kColumns = 700;

std::string Number(const char* format, double value) {
  std::array<char, 40> text{};
  std::snprintf(text.data(), text.size(), format, value);
  return text.data();
}
std::string Join(std::initializer_list<std::string_view> parts) {
  std::string whole;
  for (const std::string_view part : parts) whole += part;
  return whole;
}
std::string At(double value) { return Number("%.1f", value); }

std::string Escaped(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    safe += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
  }
  return safe;
}

// 1, 2 or 5 times a power of ten, so that `span` has four to nine steps.
double Step(double span) {
  if (!(span > 0)) return 1;
  const double power = std::pow(10, std::floor(std::log10(span)));
  for (const double factor : {0.2, 0.5, 1.0}) {
    if (span / (power * factor) <= 9) return power * factor;
  }
  return power * 2;
}

struct Scale {
  double low = 0, high = 1;
  bool log = false;
  [[nodiscard]] double Of(double value) const {
    const auto map = [this](double v) { return log ? std::log10(v) : v; };
    const double span = map(high) - map(low);
    return span > 0 ? (map(value) - map(low)) / span : 0;
  }
};

std::string Text(double x, double y, std::string_view anchor, const std::string& text,
                 std::string_view more = "") {
  return Join({"<text x=\"", At(x), "\" y=\"", At(y), "\" text-anchor=\"", anchor, "\"", more, ">",
               Escaped(text), "</text>\n"});
}
std::string Line(double x1, double y1, double x2, double y2, std::string_view colour) {
  return Join({"<line x1=\"", At(x1), "\" y1=\"", At(y1), "\" x2=\"", At(x2), "\" y2=\"", At(y2),
               "\" stroke=\"", colour, "\"/>\n"});
}

}  // namespace

std::string ToSvg(const Chart& chart) {
  Scale x{1e300, -1e300, chart.log_x}, y{0, chart.top, false};
  for (const Curve& curve : chart.curves) {
    for (const auto& [px, py] : curve.points) {
      if (chart.log_x && px <= 0) continue;
      x.low = std::min(x.low, px);
      x.high = std::max(x.high, px);
      if (chart.top == 0) y.high = std::max(y.high, py);
    }
  }
  if (x.low > x.high) x = {chart.log_x ? 1.0 : 0.0, chart.log_x ? 10.0 : 1.0, chart.log_x};
  if (y.high <= 0) y.high = 1;
  const auto to_x = [&](double v) { return kLeft + x.Of(v) * (kWidth - kLeft - kRight); };
  const auto to_y = [&](double v) {
    return kHeight - kBottom - y.Of(v) * (kHeight - kTop - kBottom);
  };

  std::string svg = Join({"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", At(kWidth),
                          "\" height=\"", At(kHeight),
                          "\" font-family=\"sans-serif\" font-size=\"12\">\n"
                          "<rect width=\"100%\" height=\"100%\" fill=\"white\"/>\n"});
  svg += Text(kLeft, 22, "start", chart.title, " font-size=\"15\"");
  const double y_step = Step(y.high);
  for (int k = 0; k * y_step <= y.high * (1 + 1e-9); ++k) {
    const double v = k * y_step;
    svg += Line(kLeft, to_y(v), kWidth - kRight, to_y(v), "#e4e4e4");
    svg += Text(kLeft - 8, to_y(v) + 4, "end", Number("%g", v));
  }
  const auto mark_x = [&](double v) {
    svg += Line(to_x(v), kHeight - kBottom, to_x(v), kHeight - kBottom + 5, "#666");
    svg += Text(to_x(v), kHeight - kBottom + 19, "middle", Number("%g", v));
  };
  if (chart.log_x) {
    for (double v = std::pow(10, std::ceil(std::log10(x.low) - 1e-9)); v <= x.high * (1 + 1e-9);
         v *= 10) {
      mark_x(v);
    }
  } else {
    const double step = Step(x.high - x.low);
    for (double v = std::ceil(x.low / step - 1e-9) * step; v <= x.high + step * 1e-9; v += step) {
      mark_x(std::abs(v) < step * 1e-9 ? 0 : v);
    }
  }
  svg += Line(kLeft, kHeight - kBottom, kWidth - kRight, kHeight - kBottom, "#666");
  svg += Text((kLeft + kWidth - kRight) / 2, kHeight - 14, "middle", chart.x_label);
  const double middle = (kTop + kHeight - kBottom) / 2;
  svg += Text(16, middle, "middle", chart.y_label,
              Join({" transform=\"rotate(-90 16 ", At(middle), ")\""}));
  for (std::size_t c = 0; c < chart.curves.size() && c < kColours.size(); ++c) {
    std::string path;
    double last = 0;
    for (const auto& [px, py] : chart.curves[c].points) {
      if (chart.log_x && px <= 0) continue;
      if (path.empty()) {
        path = Join({"M", At(to_x(px)), " ", At(to_y(py))});
      } else {
        if (chart.steps) path += Join({"L", At(to_x(px)), " ", At(to_y(last))});
        path += Join({"L", At(to_x(px)), " ", At(to_y(py))});
      }
      last = py;
    }
    svg += Join({"<path d=\"", path, "\" fill=\"none\" stroke=\"", kColours[c],
                 "\" stroke-width=\"1.5\"/>\n"});
    const double legend = kWidth - kRight - 130 * static_cast<double>(chart.curves.size() - c);
    svg += Line(legend, 18, legend + 20, 18, kColours[c]);
    svg += Text(legend + 26, 22, "start", chart.curves[c].name);
  }
  return svg + "</svg>\n";
}

namespace {

// Means over equal columns of time, for a value that holds from point to point.
Curve MeansOverTime(const std::string& name, const Outcome& outcome, double TimelinePoint::*value) {
  Curve curve{name, {}};
  const double from = outcome.first_arrival_s;
  const double width = (outcome.end_s - from) / static_cast<double>(kColumns);
  if (!(width > 0)) return curve;
  std::vector<double> sums(kColumns, 0);
  for (std::size_t i = 0; i < outcome.timeline.size(); ++i) {
    const TimelinePoint& point = outcome.timeline[i];
    double at = point.time_s;
    const double end =
        i + 1 < outcome.timeline.size() ? outcome.timeline[i + 1].time_s : outcome.end_s;
    for (auto k = static_cast<std::size_t>((at - from) / width); k < kColumns && at < end; ++k) {
      const double stop = std::min(end, from + width * static_cast<double>(k + 1));
      sums[k] += std::max(0.0, stop - at) * (point.*value);
      at = std::max(at, stop);
    }
  }
  for (std::size_t k = 0; k < kColumns; ++k) {
    curve.points.emplace_back((width * static_cast<double>(k)) / 3600, sums[k] / width);
  }
  return curve;
}

}  // namespace

std::vector<std::pair<std::string, Chart>> ChartsOf(const Trace& trace, const Cluster& cluster,
                                                    const Outcome& outcome) {
  Curve jct{"jobs", {}};
  std::vector<double> times;
  for (const JobOutcome& each : outcome.jobs) {
    times.push_back(each.finish_s - trace.jobs[each.job].arrival_s);
  }
  std::sort(times.begin(), times.end());
  for (std::size_t i = 0; i < times.size(); ++i) {
    jct.points.emplace_back(times[i],
                            static_cast<double>(i + 1) / static_cast<double>(times.size()));
  }
  const Chart completion{"Job completion time", "seconds", "share of jobs", true, true, 1, {jct}};
  const Chart gpus{"GPUs",
                   "hours",
                   "GPUs",
                   false,
                   true,
                   static_cast<double>(cluster.gpus),
                   {MeansOverTime("held", outcome, &TimelinePoint::gpus),
                    MeansOverTime("useful", outcome, &TimelinePoint::useful_gpus)}};
  const Chart cores{"Cores that compute",
                    "hours",
                    "cores",
                    false,
                    true,
                    cluster.cores(),
                    {MeansOverTime("cores", outcome, &TimelinePoint::cores)}};
  return {{"jct_cdf.svg", completion}, {"gpus.svg", gpus}, {"cores.svg", cores}};
}

}  // namespace headrace::simulate
