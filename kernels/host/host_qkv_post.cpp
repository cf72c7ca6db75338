// The operator behind the QKV projection, on the host.
//
// Each token's q heads go to q_output and its k and v heads into the cache, and bias, norm and
// rotation are then applied in place there, by the functions on pieces that mr_add, mr_rmsnorm and
// mr_rope run. Every step rounds to T and the destinations hold T, so the result is theirs bit for
// bit, and nothing needs scratch. A padding or illegal slot has no destination: its k and v are not
// computed.
#include "kernels/host/host_kernels.h"
#include "kernels/host/host_norm.h"
#include "kernels/host/host_rope.h"
#include "millrace/op.h"

namespace mr::host {
namespace {

// The heads of one token: where they come from and where they go.
template <class T>
struct Heads {
  int64_t heads;
  int64_t dim;
  const T* from;
  int64_t from_stride;
  T* to;
  int64_t to_stride;
};

template <class T>
void add_bias(const HeadBias& bias, int64_t dim, const T* from, int64_t head, T* to) {
  const T* values = static_cast<const T*>(bias.data) + head * bias.head_stride;
  for_each_piece(0, dim, [&](int64_t at, int64_t n) {
    float x[kPiece], y[kPiece];
    load(from + at, 1, n, x);
    load(values + at * bias.stride, bias.stride, n, y);
    add_piece(x, y, n);
    store(x, n, to + at, 1);
  });
}

template <class T>
void norm_in_place(const NormWeight& weight, float epsilon, int64_t dim, T* row) {
  float x[kPiece];
  SquareSum sum;
  for_each_piece(0, dim, [&](int64_t at, int64_t n) {
    load(row + at, 1, n, x);
    sum.add(x, n);
  });
  const float scale = norm_scale(sum, dim, epsilon);
  for_each_piece(0, dim, [&](int64_t at, int64_t n) {
    if (dim > kPiece) load(row + at, 1, n, x);
    scale_piece<T>(weight, scale, at, n, x);
    store(x, n, row + at, 1);
  });
}

// Input plus bias, or a copy, to the destination; then the norm there, if it has a weight.
template <class T>
void bring(const Heads<T>& part, const HeadBias& bias, const NormWeight& norm, float epsilon) {
  for (int64_t h = 0; h < part.heads; ++h) {
    const T* from = part.from + h * part.from_stride;
    T* to = part.to + h * part.to_stride;
    if (bias.present) {
      add_bias(bias, part.dim, from, h, to);
    } else if (from != to) {
      std::memcpy(to, from, static_cast<size_t>(part.dim) * sizeof(T));
    }
    if (norm.dtype != MR_ABSENT) norm_in_place(norm, epsilon, part.dim, to);
  }
}

template <class T>
void rotate(RopeAngles& angles, int64_t position, const Heads<T>& part) {
  rotate_heads<T>(angles, position, part.heads, part.dim, part.to, part.to_stride, part.to,
                  part.to_stride);
}

template <class T>
T* head_data(const HeadView& view, int64_t token) {
  return static_cast<T*>(view.data) + token * view.token_stride;
}

// The heads of one token in a paged cache.
template <class T>
T* slot_data(const QkvPostArgs& args, const PagedView& cache, int64_t slot) {
  return static_cast<T*>(cache.data) + slot / args.page_size * cache.page_stride +
         slot % args.page_size * cache.token_stride;
}

template <class T>
Heads<T> heads_of(const HeadView& view, int64_t token, int64_t heads, int64_t dim, T* to,
                  int64_t to_stride) {
  return {heads, dim, head_data<const T>(view, token), view.head_stride, to, to_stride};
}

struct Norms {
  NormWeight q;
  NormWeight k;
};

template <class T>
void post_token(const QkvPostArgs& args, const Norms& norms, RopeAngles& angles, int64_t token) {
  const int64_t position =
      args.rotate ? position_at(args.positions, args.positions_dtype, args.positions_stride, token)
                  : -1;
  if (args.q.present) {
    const Heads<T> q = heads_of<T>(args.q, token, args.q_heads, args.dim,
                                   head_data<T>(args.q_output, token), args.q_output.head_stride);
    bring(q, args.q_bias, norms.q, args.epsilon);
    rotate(angles, position, q);
  }
  int32_t status = 0;
  if (args.slot != nullptr) {
    const int64_t slot = args.slot[token * args.slot_stride];
    const bool valid = slot >= 0 && args.page_size > 0 && slot / args.page_size < args.pages;
    if (valid && args.k.present) {
      const Heads<T> k =
          heads_of<T>(args.k, token, args.kv_heads, args.dim,
                      slot_data<T>(args, args.k_cache, slot), args.k_cache.head_stride);
      bring(k, args.k_bias, norms.k, args.epsilon);
      rotate(angles, position, k);
    }
    if (valid && args.v.present) {
      const Heads<T> v =
          heads_of<T>(args.v, token, args.kv_heads, args.v_dim,
                      slot_data<T>(args, args.v_cache, slot), args.v_cache.head_stride);
      bring(v, args.v_bias, NormWeight{}, 0.0f);
    }
    if (!valid && slot != -1) status = MR_ROW_ID_OUT_OF_RANGE;
  }
  if (args.row_status != nullptr) args.row_status[token * args.row_status_stride] = status;
}

void run(HostWorkers& workers, const QkvPostArgs& args, void*, size_t) {
  const Norms norms = {.q = {.dtype = args.q_norm_dtype,
                             .data = args.q_norm,
                             .stride = args.q_norm_stride,
                             .plus_one = args.weight_plus_one},
                       .k = {.dtype = args.k_norm_dtype,
                             .data = args.k_norm,
                             .stride = args.k_norm_stride,
                             .plus_one = args.weight_plus_one}};
  const int64_t heads = std::min<int64_t>(args.q_heads + args.kv_heads, 1 << 20);
  const int64_t token_ns = (args.rotate ? rotation_ns(args.rope, heads) : 0) +
                           heads * args.dim * 2 +
                           std::min<int64_t>(args.kv_heads, heads) * args.v_dim;
  visit_float(args.dtype, [&]<class T>(type_tag<T>) {
    workers.parallel(args.tokens, grain(token_ns), [&](int64_t begin, int64_t end) {
      RopeAngles angles(args.rope);
      for (int64_t token = begin; token < end; ++token) {
        post_token<T>(args, norms, angles, token);
      }
    });
  });
}

constexpr Kernel<QkvPostArgs> kRows[] = {
    {.name = "host_qkv_post", .launch = launch<QkvPostArgs, run>},
};

}  // namespace

KernelList<QkvPostArgs> qkv_post() { return kRows; }

}  // namespace mr::host
