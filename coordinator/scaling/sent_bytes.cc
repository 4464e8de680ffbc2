#include "coordinator/scaling/sent_bytes.h"

#include <algorithm>
#include <utility>

namespace headrace::coordinator {

void SentBytes::Add(double samples, double own, double sockets, double received) {
  period_.samples += samples;
  period_.finished += own + sockets;
  period_.sockets += sockets;
  period_.received += received;
}

void SentBytes::EndPeriod(double keep) {
  const Sums now = std::exchange(period_, {});
  if (now.samples <= 0 || now.finished <= 0) return;
  crossed_ = now.sockets > 0;
  decayed_.samples = decayed_.samples * keep + now.samples;
  decayed_.finished = decayed_.finished * keep + now.finished;
  // What once crossed is still the best guess after hours without. In the first period batches come that
  // are taken in the next: what it says of the form holds until then.
  if (crossed_) {
    const double kept = crossings_ == 1 ? 0 : keep;
    crossings_ = std::min(2, crossings_ + 1);
    decayed_.sockets = decayed_.sockets * kept + now.sockets;
    decayed_.received = decayed_.received * kept + now.received;
  }
  // Some batches come twice. No form is larger.
  const double form =
      decayed_.sockets > 0 ? std::min(1.0, decayed_.received / decayed_.sockets) : 1;
  const double measured = decayed_.finished / decayed_.samples * form;
  if (held_ < measured || held_ > measured * (1 + kWobble)) held_ = measured * (1 + kWobble / 2);
}

}  // namespace headrace::coordinator
