#include "dataworker/source/stores/asked_object.h"

#include <utility>

namespace headrace::dataworker {

void AskedObject::FetchMetered(Ask /*ask*/, std::span<const std::int64_t> rows, Sink sink,
                               std::shared_ptr<remote::Meter> meter) const {
  if (rows.size() != 1 || rows[0] != 0) {
    for (std::size_t i = 0; i < rows.size(); ++i) {
      sink(i, RowAnswer::Failed(InvalidArgument("an object that is asked for is one row")));
    }
    return;
  }
  remote::ObjectRequest request = request_;
  request.owner = this;
  request.meter = std::move(meter);
  client_.Begin(std::move(request), [this, sink = std::move(sink)](remote::ObjectAnswer came) {
    size_ = came.size;
    version_ = std::move(came.version);
    RowAnswer answer;
    answer.status = std::move(came.status);
    answer.bytes_read = came.received;
    answer.sample.bytes = came.bytes;
    answer.hold = std::move(came.body);
    sink(0, std::move(answer));
  });
}

}  // namespace headrace::dataworker
