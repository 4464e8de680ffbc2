#include <algorithm>

#include "schemas/wire/convert_internal.h"

// Messages about a session between a trainer and a worker, before batches flow.
namespace headrace::wire {

Offset<fb::Split> Write(Builder& b, const Split& v) {
  return fb::CreateSplit(b, v.worker_nodes, v.cache_node, 0, v.tail_node);
}

Split Read(Reader& r, const fb::Split* v) {
  if (v == nullptr) return {};
  r.Require(v->cache_node() <= v->worker_nodes(), "cache point outside the worker part");
  r.Require(v->tail_node() <= v->worker_nodes(), "tail outside the worker part");
  return {.worker_nodes = r.NotNegative(v->worker_nodes(), "worker_nodes"),
          .cache_node = r.NotNegative(v->cache_node(), "cache_node"),
          .tail_node = r.NotNegative(v->tail_node(), "tail_node")};
}

Offset<fb::Attach> Write(Builder& b, const Attach& v) {
  const auto host = Write(b, v.host);
  const auto plan = Write(b, v.plan);
  const auto split = Write(b, v.split);
  const auto pass = WriteText(b, v.pass);
  return fb::CreateAttach(b, v.request, v.session.value, v.job.value, host, v.use_arena, plan,
                          split, v.cache_bytes, v.lanes_given, pass);
}

Attach Read(Reader& r, const fb::Attach* v) {
  Attach out{.request = v->request(),
             .session = r.ReadId<SessionId>(v->session(), "session"),
             .job = r.ReadId<JobId>(v->job(), "job"),
             .host = Read(r, v->host()),
             .use_arena = v->use_arena(),
             .plan = Read(r, v->plan()),
             .split = Read(r, v->split()),
             .cache_bytes = v->cache_bytes(),
             .lanes_given = v->lanes_given(),
             .pass = r.Text(v->pass())};
  r.Require(out.split.worker_nodes <= static_cast<std::int64_t>(out.plan.chain.size()),
            "split past the end of the chain");
  return out;
}

Offset<fb::Attached> Write(Builder& b, const Attached& v) {
  const auto status = Write(b, v.status);
  const auto needed = WriteIds(b, v.needed_blobs);
  return fb::CreateAttached(b, v.request, v.session.value, status, v.use_arena, needed);
}

Attached Read(Reader& r, const fb::Attached* v) {
  return {.request = v->request(),
          .session = r.ReadId<SessionId>(v->session(), "session"),
          .status = Read(r, v->status()),
          .use_arena = v->use_arena(),
          .needed_blobs = r.Ids<BlobHash>(v->needed_blobs(), "needed_blobs")};
}

Offset<fb::BlobPart> Write(Builder& b, const BlobPart& v) {
  return fb::CreateBlobPart(b, v.session.value, v.hash.value, v.total_bytes, v.offset);
}

BlobPart Read(Reader& r, const fb::BlobPart* v) {
  r.Require(v->offset() <= v->total_bytes(), "blob offset");
  return {.session = r.ReadId<SessionId>(v->session(), "session"),
          .hash = r.ReadId<BlobHash>(v->hash(), "hash"),
          .total_bytes = v->total_bytes(),
          .offset = v->offset()};
}

Offset<fb::Detach> Write(Builder& b, const Detach& v) {
  return fb::CreateDetach(b, v.session.value);
}

Detach Read(Reader& r, const fb::Detach* v) {
  return {.session = r.ReadId<SessionId>(v->session(), "session")};
}

Offset<fb::Describe> Write(Builder& b, const Describe& v) {
  const auto keys = WriteScalars(b, v.keys);
  return fb::CreateDescribe(b, v.request, v.session.value, keys);
}

Describe Read(Reader& r, const fb::Describe* v) {
  return {.request = v->request(),
          .session = r.ReadId<SessionId>(v->session(), "session"),
          .keys = r.Scalars(v->keys())};
}

Offset<fb::Described> Write(Builder& b, const Described& v) {
  const auto status = Write(b, v.status);
  std::vector<std::int32_t> heights, widths, channels;
  for (const auto& spec : v.specs) {
    const ImageSize size = ImageSizeOf(spec).value_or(ImageSize{-1, -1, -1});
    heights.push_back(size.height);
    widths.push_back(size.width);
    channels.push_back(size.channels);
  }
  const auto written_heights = WriteScalars(b, heights);
  const auto written_widths = WriteScalars(b, widths);
  const auto written_channels = WriteScalars(b, channels);
  const auto specs = WriteSpecs(b, v.specs);
  return fb::CreateDescribed(b, v.request, v.session.value, status, written_heights, written_widths,
                             written_channels, specs);
}

Described Read(Reader& r, const fb::Described* v) {
  Described out{.request = v->request(),
                .session = r.ReadId<SessionId>(v->session(), "session"),
                .status = Read(r, v->status()),
                .specs = ReadSpecs(r, v->specs())};
  const auto heights = r.Scalars(v->heights());
  const auto widths = r.Scalars(v->widths());
  const auto channels = r.Scalars(v->channels());
  r.Require(heights.size() == widths.size() && heights.size() == channels.size(),
            "heights, widths and channels of unequal length");
  if (!out.specs.empty() || heights.size() != widths.size() || heights.size() != channels.size()) {
    return out;
  }
  for (std::size_t i = 0; i < heights.size(); ++i) {  // of a peer that writes no specs
    const ImageSize size{heights[i], widths[i], channels[i]};
    const std::int32_t least = std::min({size.height, size.width, size.channels});
    r.Require(least >= -1, "image size");
    out.specs.push_back(least < 0 ? std::nullopt : std::optional(SpecOf(size)));
  }
  return out;
}

}  // namespace headrace::wire
