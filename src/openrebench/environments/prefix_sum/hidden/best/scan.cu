// OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
//
// Parity-gated prefix sum in one pass over memory (decoupled look-back, Merrill and Garland 2016).
//
// A stretch of the input is described by (parity of its positives, gated sum if the count before it
// is even, plain sum); the gated sum for an odd count is the difference of the two. Stretches compose:
//   (p1, a1, t1) then (p2, a2, t2)  =  (p1 ^ p2, a1 + (p1 ? t2 - a2 : a2), t1 + t2).
// A block publishes its stretch, looks back over its predecessors' until it meets a finished prefix,
// and only then scans its items, with the parity at its first item known: one sum scan, not two.

#include <cstdint>
#include <cuda_runtime.h>

#ifndef THREADS
#define THREADS 256
#endif
#ifndef VECTORS
#define VECTORS 8
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 4
#endif

constexpr int kThreads = THREADS;
constexpr int kVectors = VECTORS;                    // int4 loads of each thread
constexpr int kWarps = kThreads / 32;
constexpr int kTile = kThreads * kVectors * 4;       // items of a block
constexpr unsigned kAll = 0xffffffffu;

// Both words of a tile's state carry a tag (call number * 2 + finished), so a reader can tell a pair that
// belongs together from one caught between two writes, and nothing has to be reset between calls.
struct State { unsigned long long a, t; };

struct Stretch { unsigned p; int a, t; };

__device__ __forceinline__ Stretch then(Stretch x, Stretch y) {
    return {x.p ^ y.p, x.a + (x.p ? y.t - y.a : y.a), x.t + y.t};
}

__device__ __forceinline__ void publish(State* s, Stretch v, unsigned tag) {
    unsigned long long a = ((unsigned long long)(tag << 1 | v.p) << 32) | (unsigned)v.a;
    unsigned long long t = ((unsigned long long)(tag << 1) << 32) | (unsigned)v.t;
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(s), "l"(a), "l"(t) : "memory");
}

__device__ __forceinline__ Stretch await(const State* s, unsigned tag, bool& finished) {
    unsigned long long a, t;
    unsigned ha, ht;
    do {
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(t) : "l"(s) : "memory");
        ha = (unsigned)(a >> 33);
        ht = (unsigned)(t >> 33);
    } while (ha != ht || (ha & ~1u) != tag);
    finished = ha & 1u;
    return {(unsigned)(a >> 32) & 1u, (int)(unsigned)a, (int)(unsigned)t};
}

// Order-preserving reduction over the lanes [0, 32): lane 31 is the nearest predecessor.
__device__ __forceinline__ Stretch reduce_in_order(Stretch v) {
    for (int d = 1; d < 32; d <<= 1) {
        Stretch w = {__shfl_up_sync(kAll, v.p, d), __shfl_up_sync(kAll, v.a, d), __shfl_up_sync(kAll, v.t, d)};
        if ((threadIdx.x & 31) >= d) v = then(w, v);
    }
    return {__shfl_sync(kAll, v.p, 31), __shfl_sync(kAll, v.a, 31), __shfl_sync(kAll, v.t, 31)};
}

__device__ Stretch look_back(const State* states, int tile, unsigned tag) {
    const int lane = threadIdx.x & 31;
    Stretch after = {0u, 0, 0};
    for (int nearest = tile - 1;; nearest -= 32) {
        int mine = nearest - 31 + lane;              // lane 31 reads the nearest
        bool finished = true;
        Stretch v = {0u, 0, 0};                      // before the first tile: nothing, and finished
        if (mine >= 0) v = await(states + mine, tag, finished);
        unsigned done = __ballot_sync(kAll, finished);
        int from = done ? 31 - __clz(done) : 0;      // the nearest finished prefix; older ones are inside it
        if (lane < from) v = {0u, 0, 0};
        after = then(reduce_in_order(v), after);
        if (done) return after;
    }
}

__global__ void __launch_bounds__(kThreads, BLOCKS_PER_SM)
scan(const int* __restrict__ x, int* __restrict__ y, int n, State* states, unsigned* ticket, unsigned base, unsigned tag) {
    __shared__ Stretch warps[kWarps];
    __shared__ Stretch before;
    __shared__ int tile_shared;
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    if (threadIdx.x == 0) tile_shared = (int)(atomicAdd(ticket, 1u) - base);
    __syncthreads();
    const int tile = tile_shared;
    const int low = tile * kTile + warp * (kVectors * 128) + lane * 4;
    const bool whole = tile * kTile + kTile <= n;

    int4 v[kVectors];
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
        int i = low + k * 128;
        if (whole) v[k] = __ldcs(reinterpret_cast<const int4*>(x + i));
        else v[k] = {i < n ? x[i] : 0, i + 1 < n ? x[i + 1] : 0, i + 2 < n ? x[i + 2] : 0, i + 3 < n ? x[i + 3] : 0};
    }

    // The warp's stretch, and for each vector the parity before it within the warp (bit k of `odd`).
    unsigned odd = 0, parity = 0;
    int a = 0, t = 0;
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
        unsigned p0 = v[k].x > 0, p1 = p0 ^ (unsigned)(v[k].y > 0), p2 = p1 ^ (unsigned)(v[k].z > 0), p3 = p2 ^ (unsigned)(v[k].w > 0);
        unsigned ballot = __ballot_sync(kAll, p3);
        unsigned q = parity ^ (__popc(ballot & ((1u << lane) - 1u)) & 1u);
        odd |= q << k;
        int sum = v[k].x + v[k].y + v[k].z + v[k].w;
        int even_start = (p0 ? v[k].y : 0) + (p1 ? v[k].z : 0) + (p2 ? v[k].w : 0);
        a += q ? sum - even_start : even_start;
        t += sum;
        parity ^= __popc(ballot) & 1u;
    }
    a = __reduce_add_sync(kAll, a);
    t = __reduce_add_sync(kAll, t);
    if (lane == 0) warps[warp] = {parity, a, t};
    __syncthreads();

    if (warp == 0) {
        Stretch mine = lane < kWarps ? warps[lane] : Stretch{0u, 0, 0};
        Stretch all = reduce_in_order(mine);
        if (lane == 0) publish(states + tile, all, tile == 0 ? tag | 1u : tag);
        Stretch earlier = {0u, 0, 0};
        if (tile > 0) {
            earlier = look_back(states, tile, tag);
            if (lane == 0) publish(states + tile, then(earlier, all), tag | 1u);
        }
        if (lane == 0) before = earlier;
    }
    __syncthreads();

    Stretch start = before;
    for (int w = 0; w < warp; ++w) start = then(start, warps[w]);
    int carry = start.a;
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
        unsigned q = (odd >> k & 1u) ^ start.p;
        int g0 = q ? v[k].x : 0;
        q ^= (unsigned)(v[k].x > 0);
        int g1 = g0 + (q ? v[k].y : 0);
        q ^= (unsigned)(v[k].y > 0);
        int g2 = g1 + (q ? v[k].z : 0);
        q ^= (unsigned)(v[k].z > 0);
        int g3 = g2 + (q ? v[k].w : 0);
        int inclusive = g3;
#pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            int w = __shfl_up_sync(kAll, inclusive, d);
            if (lane >= d) inclusive += w;
        }
        int from = carry + inclusive - g3;
        carry += __shfl_sync(kAll, inclusive, 31);
        int i = low + k * 128;
        int4 out = {from + g0, from + g1, from + g2, from + g3};
        if (whole) __stcs(reinterpret_cast<int4*>(y + i), out);
        else {
            if (i < n) y[i] = out.x;
            if (i + 1 < n) y[i + 1] = out.y;
            if (i + 2 < n) y[i + 2] = out.z;
            if (i + 3 < n) y[i + 3] = out.w;
        }
    }
}

extern "C" int tiles(int n) { return (n + kTile - 1) / kTile; }

// `states` holds tiles(n) states and `ticket` one word, zeroed once; `call` counts from 1 up to 2^29.
extern "C" int launch(const void* x, void* y, int n, void* states, void* ticket, unsigned base, unsigned call, void* stream) {
    int blocks = tiles(n);
    if (blocks)
        scan<<<blocks, kThreads, 0, (cudaStream_t)stream>>>((const int*)x, (int*)y, n, (State*)states, (unsigned*)ticket, base, call << 1);
    return (int)cudaGetLastError();
}
