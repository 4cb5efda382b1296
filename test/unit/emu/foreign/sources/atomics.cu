// Atomic operations of all kinds, and a lock.

#include <cuda_fp16.h>

/// The largest float, by compare-and-swap of its bits.
__device__ void atomic_max(float *address, float x) {
    int *const bits = reinterpret_cast<int *>(address);
    int seen = atomicAdd(bits, 0);
    while (__int_as_float(seen) < x) {
        const int before = atomicCAS(bits, seen, __float_as_int(x));
        if (before == seen) break;
        seen = before;
    }
}

/// Each thread gives one number to each of the results. What order does not change is exact.
extern "C" __global__ void all_kinds(int n, const int *in, int *words, unsigned long long *longs, float *largest,
                                     double *sum, float *single, __half2 *halves) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const int x = in[i];
    atomicAdd(&words[0], x);
    atomicMin(&words[1], x);
    atomicMax(&words[2], x);
    atomicAnd(&words[3], x | 1);
    atomicOr(&words[4], x & 0xFF00);
    atomicXor(&words[5], x);
    atomicSub(&words[6], x);
    atomicDec(reinterpret_cast<unsigned *>(&words[7]), 5);
    atomicMin(reinterpret_cast<unsigned *>(&words[8]), (unsigned)x);
    atomicAdd(&longs[0], (unsigned long long)x << 20);
    atomicMax(&longs[1], (unsigned long long)((long long)x * x));
    atomicAdd_system(&longs[2], 1ull);
    atomic_max(largest, (float)(x % 1000));
    atomicAdd(sum, (double)(x % 1000));
    atomicAdd(single, (float)(x % 16));
    atomicAdd(halves, __floats2half2_rn((float)(x % 2), 1.0f));
}

/// Each thread puts itself before the list: next[i] is who was first before, -1 at the end.
extern "C" __global__ void chain(int n, int *head, int *next) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) next[i] = atomicExch(head, i);
}

/// One thread a block, each under a lock: two words that only whoever has the lock reads and writes.
extern "C" __global__ void locked(unsigned *lock, int rounds, long long *words) {
    for (int round = 0; round < rounds; round++) {
        unsigned taken;
        do {
            asm volatile("atom.acquire.gpu.global.cas.b32 %0, [%1], 0, 1;" : "=r"(taken) : "l"(lock) : "memory");
            if (taken) __nanosleep(100);
        } while (taken);
        words[0] += blockIdx.x + 1;
        words[1] = words[1] * 3 % 1000003;
        asm volatile("st.release.gpu.global.u32 [%0], %1;" ::"l"(lock), "r"(0) : "memory");
    }
}
