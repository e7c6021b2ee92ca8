// OpenRE-Bench hidden material. Canary 7f0c1e0a-5b0e-4d0b-9c43-2f6f1f4f6a51: do not publish, do not train on.
//
// Parity-gated prefix sum in one pass over memory, for Hopper and later.
//
// A stretch of the input is described by (parity of its positives, gated sum if the count before it
// is even, plain sum); the gated sum for an odd count is the difference of the two. Stretches compose:
//   (p1, a1, t1) then (p2, a2, t2)  =  (p1 ^ p2, a1 + (p1 ? t2 - a2 : a2), t1 + t2).
//
// All G blocks are resident and block b takes the tiles b, b + G, b + 2G, ... Before it scans a tile it
// needs the stretches of the G - 1 tiles before it, and the prefix of the tile G before it, which is
// its own last one: so one look at G - 1 published stretches is always enough, and no prefix is ever
// published. Each block publishes the stretch of its next tile before it scans the present one, so
// that nobody waits; loads run two tiles ahead through the bulk copy engine.

#include <cstdint>
#include <cuda_runtime.h>

#ifndef THREADS
#define THREADS 512
#endif
#ifndef VECTORS
#define VECTORS 4
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 2
#endif
#ifndef STAGES
#define STAGES 3
#endif

constexpr int kThreads = THREADS;
constexpr int kVectors = VECTORS;               // int4 vectors of each thread
constexpr int kWarps = kThreads / 32;
constexpr int kTile = kThreads * kVectors * 4;  // items of a tile
constexpr int kStages = STAGES;
constexpr unsigned kAll = 0xffffffffu;

struct State { unsigned long long a, t; };      // each word carries the call number as a tag
struct Stretch { unsigned p; int a, t; };

struct Shared {
    alignas(128) int items[kStages][kTile];
    alignas(8) unsigned long long full[kStages];
    Stretch warps[2][kWarps];                   // stretches of the warps: this tile's and the next one's
    Stretch looked[kWarps];
};

__device__ __forceinline__ Stretch then(Stretch x, Stretch y) {
    return {x.p ^ y.p, x.a + (x.p ? y.t - y.a : y.a), x.t + y.t};
}

__device__ __forceinline__ void publish(State* s, Stretch v, unsigned tag) {
    unsigned long long a = ((unsigned long long)(tag << 1 | v.p) << 32) | (unsigned)v.a;
    unsigned long long t = ((unsigned long long)(tag << 1) << 32) | (unsigned)v.t;
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(s), "l"(a), "l"(t) : "memory");
}

__device__ __forceinline__ Stretch await(const State* s, unsigned tag) {
    unsigned long long a, t;
    do {
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(t) : "l"(s) : "memory");
    } while ((unsigned)(a >> 33) != tag || (unsigned)(t >> 33) != tag);
    return {(unsigned)(a >> 32) & 1u, (int)(unsigned)a, (int)(unsigned)t};
}

// Reduce over the lanes in order; every lane gets the result.
__device__ __forceinline__ Stretch reduce_in_order(Stretch v) {
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        Stretch w = {__shfl_up_sync(kAll, v.p, d), __shfl_up_sync(kAll, v.a, d), __shfl_up_sync(kAll, v.t, d)};
        if ((threadIdx.x & 31) >= d) v = then(w, v);
    }
    return {__shfl_sync(kAll, v.p, 31), __shfl_sync(kAll, v.a, 31), __shfl_sync(kAll, v.t, 31)};
}

__device__ __forceinline__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

__device__ __forceinline__ void load(Shared& s, int stage, const int* x, long long n, long long tile) {
    long long low = tile * kTile;
    if (low >= n) return;
    if (low + kTile <= n) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&s.full[stage])), "r"(kTile * 4) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         ::"r"(address(s.items[stage])), "l"(x + low), "r"(kTile * 4), "r"(address(&s.full[stage])) : "memory");
        }
        return;
    }
    for (int i = threadIdx.x; i < kTile; i += kThreads) s.items[stage][i] = low + i < n ? x[low + i] : 0;
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&s.full[stage])) : "memory");
}

__device__ __forceinline__ void wait(Shared& s, int stage, unsigned phase) {
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(address(&s.full[stage])), "r"(phase) : "memory");
    } while (!done);
}

__device__ __forceinline__ int4 vector(const Shared& s, int stage, int k) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    return *reinterpret_cast<const int4*>(&s.items[stage][warp * (kVectors * 128) + k * 128 + lane * 4]);
}

// The stretch of this thread's warp in a tile.
__device__ __forceinline__ Stretch summarise(const Shared& s, int stage) {
    const int lane = threadIdx.x & 31;
    unsigned parity = 0;
    int a = 0, t = 0;
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
        int4 v = vector(s, stage, k);
        unsigned p0 = v.x > 0, p1 = p0 ^ (unsigned)(v.y > 0), p2 = p1 ^ (unsigned)(v.z > 0), p3 = p2 ^ (unsigned)(v.w > 0);
        unsigned ballot = __ballot_sync(kAll, p3);
        unsigned q = parity ^ (__popc(ballot & ((1u << lane) - 1u)) & 1u);
        int sum = v.x + v.y + v.z + v.w;
        int even = (p0 ? v.y : 0) + (p1 ? v.z : 0) + (p2 ? v.w : 0);
        a += q ? sum - even : even;
        t += sum;
        parity ^= __popc(ballot) & 1u;
    }
    return {parity, __reduce_add_sync(kAll, a), __reduce_add_sync(kAll, t)};
}

__device__ __forceinline__ void scan_tile(const Shared& s, int stage, Stretch start, int* y, long long n, long long low) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const bool whole = low + kTile <= n;
    unsigned parity = start.p;
    int carry = start.a;
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
        int4 v = vector(s, stage, k);
        unsigned p0 = v.x > 0, p1 = p0 ^ (unsigned)(v.y > 0), p2 = p1 ^ (unsigned)(v.z > 0), p3 = p2 ^ (unsigned)(v.w > 0);
        unsigned ballot = __ballot_sync(kAll, p3);
        unsigned q = parity ^ (__popc(ballot & ((1u << lane) - 1u)) & 1u);
        parity ^= __popc(ballot) & 1u;
        int g0 = q ? v.x : 0, g1 = g0 + (q ^ p0 ? v.y : 0), g2 = g1 + (q ^ p1 ? v.z : 0), g3 = g2 + (q ^ p2 ? v.w : 0);
        int inclusive = g3;
#pragma unroll
        for (int d = 1; d < 32; d <<= 1) {
            int w = __shfl_up_sync(kAll, inclusive, d);
            if (lane >= d) inclusive += w;
        }
        int from = carry + inclusive - g3;
        carry += __shfl_sync(kAll, inclusive, 31);
        long long i = low + warp * (kVectors * 128) + k * 128 + lane * 4;
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

// The stretch of all tiles between this block's last one and `tile`, in order: tiles first .. tile - 1.
__device__ __forceinline__ Stretch look_back(Shared& s, const State* states, long long tile, unsigned tag) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const long long first = tile >= gridDim.x ? tile - gridDim.x + 1 : 0;
    const int count = (int)(tile - first), each = (count + kThreads - 1) / kThreads;
    Stretch mine = {0u, 0, 0};
    for (int j = 0; j < each; ++j) {
        int i = threadIdx.x * each + j;
        if (i < count) mine = then(mine, await(states + first + i, tag));
    }
    mine = reduce_in_order(mine);
    if (lane == 0) s.looked[warp] = mine;
    __syncthreads();
    Stretch v = lane < kWarps ? s.looked[lane] : Stretch{0u, 0, 0};
    return reduce_in_order(v);
}

__global__ void __launch_bounds__(kThreads, BLOCKS_PER_SM)
scan(const int* __restrict__ x, int* __restrict__ y, long long n, State* states, unsigned tag) {
    extern __shared__ __align__(128) unsigned char raw[];
    Shared& s = *reinterpret_cast<Shared*>(raw);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const long long tiles = (n + kTile - 1) / kTile;
    if (threadIdx.x == 0)
        for (int k = 0; k < kStages; ++k) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&s.full[k])) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    for (int k = 0; k < kStages - 1; ++k) load(s, k, x, n, blockIdx.x + (long long)k * gridDim.x);

    Stretch before = {0u, 0, 0};                // everything up to and with this block's last tile
    int wave = 0;
    for (long long tile = blockIdx.x; tile < tiles; tile += gridDim.x, ++wave) {
        // The stage that the last tile left is free: everybody passed a barrier since reading it.
        load(s, (wave + kStages - 1) % kStages, x, n, tile + (long long)(kStages - 1) * gridDim.x);
        for (int ahead = wave ? 1 : 0; ahead < 2; ++ahead) {
            long long next = tile + (long long)ahead * gridDim.x;
            if (next >= tiles) break;
            int at = wave + ahead;
            wait(s, at % kStages, (at / kStages) & 1);
            Stretch mine = summarise(s, at % kStages);
            if (lane == 0) s.warps[at & 1][warp] = mine;
            __syncthreads();
            if (warp == 0) {
                Stretch v = lane < kWarps ? s.warps[at & 1][lane] : Stretch{0u, 0, 0};
                v = reduce_in_order(v);
                if (lane == 0) publish(states + next, v, tag);
            }
        }
        before = then(before, look_back(s, states, tile, tag));
        Stretch start = before;
        Stretch all = before;
        for (int w = 0; w < kWarps; ++w) {
            if (w == warp) start = all;
            all = then(all, s.warps[wave & 1][w]);
        }
        scan_tile(s, wave % kStages, start, y, n, tile * kTile);
        before = all;
        __syncthreads();
    }
}

extern "C" int tiles(long long n) { return (int)((n + kTile - 1) / kTile); }

// `states` holds tiles(n) states, zeroed once; `call` counts from 1 up to 2^31 - 1.
extern "C" int launch(const void* x, void* y, long long n, void* states, unsigned call, void* stream) {
    static int resident = 0;
    if (!resident) {
        int device, processors, per;
        cudaGetDevice(&device);
        cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
        cudaFuncSetAttribute(scan, cudaFuncAttributeMaxDynamicSharedMemorySize, (int)sizeof(Shared));
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&per, scan, kThreads, sizeof(Shared));
        resident = processors * per;
    }
    int blocks = tiles(n) < resident ? tiles(n) : resident;
    if (blocks) scan<<<blocks, kThreads, sizeof(Shared), (cudaStream_t)stream>>>((const int*)x, (int*)y, n, (State*)states, call);
    return (int)cudaGetLastError();
}
