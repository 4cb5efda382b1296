// What CUDA's headers bring: groups of threads, atomic objects, assertions and prints; and what a module has for itself.

#include <cassert>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cooperative_groups/scan.h>
#include <cstdio>
#include <cuda/atomic>

namespace groups = cooperative_groups;

/// Sums and sums so far within tiles of eight; the places of threads among those of their warp with the same x % 4.
extern "C" __global__ void tiles(const int *in, int *sums, int *scans, int *places) {
    const auto block = groups::this_thread_block();
    const auto tile = groups::tiled_partition<8>(block);
    const int i = blockIdx.x * blockDim.x + block.thread_rank(), x = in[i];
    sums[i] = groups::reduce(tile, x, groups::plus<int>());
    scans[i] = groups::inclusive_scan(tile, x);
    block.sync();
    places[i] = groups::labeled_partition(groups::tiled_partition<32>(block), x & 3).thread_rank();
}

using Flag = cuda::atomic<int, cuda::thread_scope_device>;

/// Each block hands a list on to the next one, and adds its own number.
extern "C" __global__ void relay(Flag *turn, int *list) {
    if (threadIdx.x) return;
    while (turn->load(cuda::memory_order_acquire) != blockIdx.x);
    list[blockIdx.x] = blockIdx.x ? 2 * list[blockIdx.x - 1] + 1 : 1;
    turn->fetch_add(1, cuda::memory_order_release);
}

struct Line {
    double slope;
    int offsets[3];
    float scale;
};

__device__ int calls = 10;
__device__ short squares[6] = {0, 1, 4, 9};

/// A struct by value, variables of the module, and an assertion that no x is 13; who has 7 prints.
extern "C" __global__ void lines(int n, Line line, const int *in, float *out, int *numbers) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int x = in[i];
    assert(x != 13);
    if (x == 7) printf("%d has 7\n", i);
    out[i] = (float)(line.slope * x + line.offsets[i % 3]) * line.scale + squares[i % 6];
    numbers[i] = atomicAdd(&calls, 1);
}
