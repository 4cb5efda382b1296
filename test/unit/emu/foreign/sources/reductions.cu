// Many blocks that make one result: a sum by the block that is done last, a histogram, a scan that is passed on.

const unsigned ALL = 0xFFFFFFFFu;

/// The sum over the block, for thread 0. Blocks of a multiple of 32 threads.
__device__ double block_sum(double x) {
    __shared__ double parts[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int distance = 16; distance; distance /= 2) x += __shfl_down_sync(ALL, x, distance);
    if (lane == 0) parts[warp] = x;
    __syncthreads();
    if (warp == 0) {
        x = lane < blockDim.x / 32 ? parts[lane] : 0;
        for (int distance = 16; distance; distance /= 2) x += __shfl_down_sync(ALL, x, distance);
    }
    return x;
}

/// `done` begins as 0 and is 0 again afterwards.
extern "C" __global__ void sum(int n, const float *in, double *partial, unsigned *done, double *out) {
    __shared__ bool last;
    double x = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) x += in[i];
    x = block_sum(x);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = x;
        __threadfence();
        last = atomicInc(done, gridDim.x - 1) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (!last) return;
    x = 0;
    for (int i = threadIdx.x; i < gridDim.x; i += blockDim.x) x += partial[i];
    x = block_sum(x);
    if (threadIdx.x == 0) *out = x;
}

/// 256 counts of bytes: in shared memory by block, then added. `counts` begins as what it adds to.
extern "C" __global__ void histogram(int n, const unsigned char *in, unsigned *counts) {
    __shared__ unsigned own[256];
    for (int i = threadIdx.x; i < 256; i += blockDim.x) own[i] = 0;
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) atomicAdd(&own[in[i]], 1);
    __syncthreads();
    for (int i = threadIdx.x; i < 256; i += blockDim.x)
        if (own[i]) atomicAdd(&counts[i], own[i]);
}

/// The sum of what threads up to this one have.
__device__ long long block_scan(long long x) {
    __shared__ long long parts[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    for (int distance = 1; distance < 32; distance *= 2) {
        const long long before = __shfl_up_sync(ALL, x, distance);
        if (lane >= distance) x += before;
    }
    if (lane == 31) parts[warp] = x;
    __syncthreads();
    if (warp == 0) {
        long long total = lane < blockDim.x / 32 ? parts[lane] : 0;
        for (int distance = 1; distance < 32; distance *= 2) {
            const long long before = __shfl_up_sync(ALL, total, distance);
            if (lane >= distance) total += before;
        }
        parts[lane] = total;
    }
    __syncthreads();
    return warp ? x + parts[warp - 1] : x;
}

/// An inclusive scan. A block takes the next part, so that who waits for it has begun after it. `ticket` and `ready`
/// begin as 0.
extern "C" __global__ void scan(int n, const int *in, long long *out, unsigned *ticket, long long *total,
                                unsigned *ready) {
    __shared__ unsigned part;
    __shared__ long long before;
    if (threadIdx.x == 0) part = atomicAdd(ticket, 1);
    __syncthreads();
    const int i = part * blockDim.x + threadIdx.x;
    const long long x = block_scan(i < n ? in[i] : 0);
    if (threadIdx.x == blockDim.x - 1) {
        long long sum = 0;
        if (part > 0) {
            unsigned seen;
            do asm volatile("ld.acquire.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(ready + part - 1) : "memory");
            while (seen == 0);
            sum = total[part - 1];
        }
        total[part] = sum + x;
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(ready + part), "r"(1) : "memory");
        before = sum;
    }
    __syncthreads();
    if (i < n) out[i] = before + x;
}

/// What remains of `in` where a bit of `keep` is set, in any order; a warp takes its places by one atomic addition.
extern "C" __global__ void compact(int n, const int *in, const unsigned char *keep, unsigned *count, int *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n || !(keep[i / 8] >> i % 8 & 1)) return;
    const unsigned active = __activemask(), lane = threadIdx.x % 32;
    const int leader = __ffs(active) - 1, rank = __popc(active & ((1u << lane) - 1));
    unsigned start = 0;
    if (rank == 0) start = atomicAdd(count, __popc(active));
    out[__shfl_sync(active, start, leader) + rank] = in[i];
}

/// Sums and counts by key; lanes of one key add together first. `n` is a multiple of 32.
extern "C" __global__ void by_key(int n, const int *keys, const int *values, int *sums, unsigned *counts,
                                  int *votes) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int key = keys[i], lane = threadIdx.x % 32;
    const unsigned peers = __match_any_sync(ALL, key);
    const int sum = __reduce_add_sync(peers, values[i]);
    if (lane == __ffs(peers) - 1) {
        atomicAdd(&sums[key], sum);
        atomicAdd(&counts[key], __popc(peers));
    }
    int same;
    __match_all_sync(ALL, key, &same);
    const int vote = same | __any_sync(ALL, key == 3) << 1 | __all_sync(ALL, key < 4) << 2;
    const int bits = __popc(__ballot_sync(ALL, values[i] < 0));
    const int least = __reduce_min_sync(ALL, values[i]), most = __reduce_max_sync(ALL, values[i]);
    if (lane == 0) {
        int *const mine = votes + i / 32 * 4;
        mine[0] = vote, mine[1] = bits, mine[2] = least, mine[3] = most;
    }
}
