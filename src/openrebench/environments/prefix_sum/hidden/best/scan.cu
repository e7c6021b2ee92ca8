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
// published. Each block publishes the stretch of a later tile before it scans the present one, so
// that nobody waits. Tiles come and go through the bulk copy engine and are scanned in place; a
// thread's items are consecutive, and an odd number of 16-byte vectors keeps the banks apart.

#include <cstdint>
#include <cuda_runtime.h>

#ifndef THREADS
#define THREADS 512
#endif
#ifndef VECTORS
#define VECTORS 5
#endif
#ifndef BLOCKS_PER_SM
#define BLOCKS_PER_SM 1
#endif
#ifndef STAGES
#define STAGES 5
#endif
#ifndef AHEAD
#define AHEAD 2
#endif

constexpr int kThreads = THREADS;
constexpr int kVectors = VECTORS;               // int4 vectors of each thread
constexpr int kWarps = kThreads / 32;
constexpr int kItems = kVectors * 4;
constexpr int kTile = kThreads * kItems;        // items of a tile
constexpr int kStages = STAGES;
constexpr int kAhead = AHEAD;                   // tiles of this block summarised before they are scanned
constexpr unsigned kAll = 0xffffffffu;
static_assert(kVectors % 2 == 1 && kStages >= kAhead + 3);

struct State { unsigned long long a, t; };      // each word carries the call number as a tag
struct Stretch { unsigned p; int a, t; };

struct Shared {
    alignas(128) int items[kStages][kTile];
    alignas(8) unsigned long long full[kStages];
    Stretch warps[kAhead + 1][kWarps];          // of a tile: what lies before each warp
    Stretch whole[kAhead + 1];
    Stretch raw[kWarps];
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

__device__ __forceinline__ void peek(const State* s, unsigned long long& a, unsigned long long& t) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];" : "=l"(a), "=l"(t) : "l"(s) : "memory");
}

__device__ __forceinline__ Stretch await(const State* s, unsigned tag, unsigned long long a, unsigned long long t) {
    while ((unsigned)(a >> 33) != tag || (unsigned)(t >> 33) != tag) {
        __nanosleep(20);
        peek(s, a, t);
    }
    return {(unsigned)(a >> 32) & 1u, (int)(unsigned)a, (int)(unsigned)t};
}

__device__ __forceinline__ unsigned lanes_before() { unsigned m; asm("mov.u32 %0, %%lanemask_lt;" : "=r"(m)); return m; }

// The stretches of all lanes in order, as one.
__device__ __forceinline__ Stretch reduce(Stretch v) {
    unsigned odd = __ballot_sync(kAll, v.p);
    int a = __popc(odd & lanes_before()) & 1 ? v.t - v.a : v.a;
    return {(unsigned)__popc(odd) & 1u, __reduce_add_sync(kAll, a), __reduce_add_sync(kAll, v.t)};
}

__device__ __forceinline__ int inclusive_sum(int v) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int d = 1; d < 32; d <<= 1) {
        int w = __shfl_up_sync(kAll, v, d);
        if (lane >= d) v += w;
    }
    return v;
}

__device__ __forceinline__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// Start filling a stage; its last tile has left it, all but for a store that may still be reading.
__device__ __forceinline__ void load(Shared& s, int wave, const int* x, long long n) {
    const int stage = wave % kStages;
    const long long low = (blockIdx.x + (long long)wave * gridDim.x) * kTile;
    if (low >= n) return;
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
    if (low + kTile <= n) {
        if (threadIdx.x == 0) {
            asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(address(&s.full[stage])), "r"(kTile * 4) : "memory");
            asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];"
                         ::"r"(address(s.items[stage])), "l"(x + low), "r"(kTile * 4), "r"(address(&s.full[stage])) : "memory");
        }
        return;
    }
    __syncthreads();
    for (int i = threadIdx.x; i < kTile; i += kThreads) s.items[stage][i] = low + i < n ? x[low + i] : 0;
    __syncthreads();
    if (threadIdx.x == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address(&s.full[stage])) : "memory");
}

// Send a scanned stage off.
__device__ __forceinline__ void store(const Shared& s, int stage, int* y, long long n, long long low) {
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (low + kTile > n) {
        for (int i = threadIdx.x; low + i < n && i < kTile; i += kThreads) y[low + i] = s.items[stage][i];
    } else if (threadIdx.x == 0) {
        asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(y + low), "r"(address(s.items[stage])), "r"(kTile * 4) : "memory");
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
    }
}

__device__ __forceinline__ void wait(Shared& s, int wave) {
    const unsigned full = address(&s.full[wave % kStages]), phase = (wave / kStages) & 1;
    unsigned done;
    do {
        asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.shared::cta.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                     : "=r"(done) : "r"(full), "r"(phase) : "memory");
    } while (!done);
}

__device__ __forceinline__ Stretch summarise(const int4* items) {
    Stretch own = {0u, 0, 0};
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
        const int4 v = items[k];
        unsigned p1 = v.x > 0, p2 = p1 ^ (unsigned)(v.y > 0), p3 = p2 ^ (unsigned)(v.z > 0), p4 = p3 ^ (unsigned)(v.w > 0);
        int even = (p1 ? v.y : 0) + (p2 ? v.z : 0) + (p3 ? v.w : 0), sum = v.x + v.y + v.z + v.w;
        own.a += own.p ? sum - even : even;
        own.t += sum;
        own.p ^= p4;
    }
    return own;
}

__device__ __forceinline__ void scan_items(int4* items, unsigned odd, int sum) {
#pragma unroll
    for (int k = 0; k < kVectors; ++k) {
        int4 v = items[k];
        unsigned p1 = odd ^ (unsigned)(v.x > 0), p2 = p1 ^ (unsigned)(v.y > 0), p3 = p2 ^ (unsigned)(v.z > 0), p4 = p3 ^ (unsigned)(v.w > 0);
        int4 out;
        out.x = sum + (odd ? v.x : 0);
        out.y = out.x + (p1 ? v.y : 0);
        out.z = out.y + (p2 ? v.z : 0);
        out.w = out.z + (p3 ? v.w : 0);
        items[k] = out;
        sum = out.w;
        odd = p4;
    }
}

__device__ __forceinline__ int4* own_items(Shared& s, int wave) {
    return reinterpret_cast<int4*>(s.items[wave % kStages]) + threadIdx.x * kVectors;
}

// Summarise a tile, and tell the other blocks; gives this thread's stretch.
__device__ __forceinline__ Stretch announce(Shared& s, int wave, State* states, unsigned tag) {
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5, slot = wave % (kAhead + 1);
    wait(s, wave);
    Stretch own = summarise(own_items(s, wave));
    Stretch mine = reduce(own);
    if (lane == 0) s.raw[warp] = mine;
    __syncthreads();
    if (warp == kWarps - 1) {
        Stretch v = lane < kWarps ? s.raw[lane] : Stretch{0u, 0, 0};
        unsigned odd = __ballot_sync(kAll, v.p), before = __popc(odd & lanes_before()) & 1;
        int g = before ? v.t - v.a : v.a, a = inclusive_sum(g), t = inclusive_sum(v.t);
        if (lane < kWarps) s.warps[slot][lane] = {before, a - g, t - v.t};
        if (lane == kWarps - 1) {
            Stretch whole = {(unsigned)__popc(odd) & 1u, a, t};
            s.whole[slot] = whole;
            publish(states + blockIdx.x + (long long)wave * gridDim.x, whole, tag);
        }
    }
    return own;
}

__global__ void __launch_bounds__(kThreads, BLOCKS_PER_SM)
scan(const int* __restrict__ x, int* __restrict__ y, long long n, State* states, unsigned tag) {
    extern __shared__ __align__(128) unsigned char raw[];
    Shared& s = *reinterpret_cast<Shared*>(raw);
    const int lane = threadIdx.x & 31, warp = threadIdx.x >> 5;
    const long long tiles = (n + kTile - 1) / kTile;
    const int waves = (int)((tiles - blockIdx.x + gridDim.x - 1) / gridDim.x);
    if (threadIdx.x == 0)
        for (int k = 0; k < kStages; ++k) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address(&s.full[k])) : "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    for (int wave = 0; wave < kStages - 2; ++wave) load(s, wave, x, n);

    Stretch before = {0u, 0, 0};                // everything up to and with this block's last tile
    Stretch own[kAhead + 1];                    // this thread's stretch of this wave's tile and the next
#pragma unroll
    for (int k = 0; k < kAhead; ++k)
        if (k < waves) own[k + 1] = announce(s, k, states, tag), __syncthreads();
    for (int wave = 0; wave < waves; ++wave) {
        const long long tile = blockIdx.x + (long long)wave * gridDim.x;
        load(s, wave + kStages - 2, x, n);
        const long long first = tile >= gridDim.x ? tile - gridDim.x + 1 : 0;
        const int count = (int)(tile - first);
        unsigned long long a, t;                // asked for now, needed after the announcement
        if (threadIdx.x < count) peek(states + first + threadIdx.x, a, t);
#pragma unroll
        for (int k = 0; k < kAhead; ++k) own[k] = own[k + 1];
        if (wave + kAhead < waves) own[kAhead] = announce(s, wave + kAhead, states, tag);
        Stretch mine = {0u, 0, 0};
        if (threadIdx.x < count) mine = await(states + first + threadIdx.x, tag, a, t);
        mine = reduce(mine);
        if (lane == 0) s.looked[warp] = mine;
        __syncthreads();
        before = then(before, reduce(lane < kWarps ? s.looked[lane] : Stretch{0u, 0, 0}));
        const int slot = wave % (kAhead + 1);
        const Stretch start = then(before, s.warps[slot][warp]);
        const unsigned odd = start.p ^ (__popc(__ballot_sync(kAll, own[0].p) & lanes_before()) & 1u);
        const int g = odd ? own[0].t - own[0].a : own[0].a;
        scan_items(own_items(s, wave), odd, start.a + inclusive_sum(g) - g);
        before = then(before, s.whole[slot]);
        store(s, wave % kStages, y, n, tile * kTile);
    }
    if (threadIdx.x == 0) asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
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
        if (resident > kThreads) resident = kThreads;  // one look takes one stretch of each thread
    }
    int blocks = tiles(n) < resident ? tiles(n) : resident;
    if (blocks) scan<<<blocks, kThreads, sizeof(Shared), (cudaStream_t)stream>>>((const int*)x, (int*)y, n, (State*)states, call);
    return (int)cudaGetLastError();
}
