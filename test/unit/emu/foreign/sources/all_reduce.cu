// All-reduce over peers by plain loads: every rank reads all, or its share and then what the others made of theirs.
//
// A peer's memory: the input, the shares' results, and flags, one word for each block and rank that writes it, which a
// rank raises at a peer. Epochs live in device memory, one a block; a launch reads its epoch and leaves the next.

struct Peer {
    const float4 *in;
    float4 *shares;
    unsigned *flags;
};

/// All ranks' blocks of this number wait for each other. Between two barriers: all that was written before the first is
/// read after the second.
__device__ void meet(const Peer *peers, int rank, int ranks, unsigned epoch) {
    if (threadIdx.x < ranks) {
        unsigned *const theirs = peers[threadIdx.x].flags + blockIdx.x * ranks + rank;
        unsigned *const mine = peers[rank].flags + blockIdx.x * ranks + threadIdx.x;
        unsigned seen;
        asm volatile("st.release.sys.global.u32 [%0], %1;" ::"l"(theirs), "r"(epoch) : "memory");
        do asm volatile("ld.acquire.sys.global.u32 %0, [%1];" : "=r"(seen) : "l"(mine) : "memory");
        while ((int)(seen - epoch) < 0);
    }
}

__device__ float4 operator+(float4 a, float4 b) { return {a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w}; }

/// out = the sum of all inputs, in the order of ranks. `n` counts vectors of four.
extern "C" __global__ void one_shot(const Peer *peers, int rank, int ranks, int n, float4 *out, unsigned *epochs) {
    const unsigned epoch = epochs[blockIdx.x];
    meet(peers, rank, ranks, epoch + 1);
    __syncthreads();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        float4 sum = peers[0].in[i];
        for (int peer = 1; peer < ranks; peer++) sum = sum + peers[peer].in[i];
        out[i] = sum;
    }
    __syncthreads();
    meet(peers, rank, ranks, epoch + 2);
    if (threadIdx.x == 0) epochs[blockIdx.x] = epoch + 2;
}

/// The same in two steps: the share of rank r is the vectors i with i % ranks == r, of those of this block.
extern "C" __global__ void two_shot(const Peer *peers, int rank, int ranks, int n, float4 *out, unsigned *epochs) {
    const unsigned epoch = epochs[blockIdx.x];
    const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x;
    meet(peers, rank, ranks, epoch + 1);
    __syncthreads();
    for (int i = first * ranks + rank; i < n; i += step * ranks) {
        float4 sum = peers[0].in[i];
        for (int peer = 1; peer < ranks; peer++) sum = sum + peers[peer].in[i];
        peers[rank].shares[i / ranks] = sum;
    }
    __syncthreads();
    meet(peers, rank, ranks, epoch + 2);
    __syncthreads();
    for (int i = first; i * ranks < n; i += step)
        for (int peer = 0; peer < ranks; peer++)
            if (i * ranks + peer < n) out[i * ranks + peer] = peers[peer].shares[i];
    if (threadIdx.x == 0) epochs[blockIdx.x] = epoch + 2;
}
