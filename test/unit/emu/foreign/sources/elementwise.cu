// Element-wise kernels: grid-stride loops, vectors of 16 bytes, tails.

#include <cuda_bf16.h>

extern "C" __global__ void saxpy(long n, float a, const float *__restrict__ x, float *__restrict__ y) {
    for (long i = blockIdx.x * (long)blockDim.x + threadIdx.x; i < n; i += (long)gridDim.x * blockDim.x)
        y[i] = fmaf(a, x[i], y[i]);
}

__device__ float gelu(float x) { return 0.5f * x * (1.0f + erff(x * 0.70710678f)); }

/// Eight elements at a time, what is left by the first threads.
extern "C" __global__ void gelu_bf16(int n, const __nv_bfloat16 *x, __nv_bfloat16 *y) {
    union Eight {
        uint4 bits;
        __nv_bfloat162 pairs[4];
    };
    const int thread = blockIdx.x * blockDim.x + threadIdx.x, threads = gridDim.x * blockDim.x;
    for (int i = thread; i < n / 8; i += threads) {
        Eight in, out;
        in.bits = reinterpret_cast<const uint4 *>(x)[i];
        for (int k = 0; k < 4; k++) {
            float2 pair = __bfloat1622float2(in.pairs[k]);
            out.pairs[k] = __floats2bfloat162_rn(gelu(pair.x), gelu(pair.y));
        }
        reinterpret_cast<uint4 *>(y)[i] = out.bits;
    }
    const int rest = n / 8 * 8 + thread;
    if (rest < n) y[rest] = __float2bfloat16_rn(gelu(__bfloat162float(x[rest])));
}

/// What integers and their bits can do, a result a row.
extern "C" __global__ void bits(int n, const unsigned *a, const unsigned *b, unsigned *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const unsigned x = a[i], y = b[i];
    const unsigned found[] = {
        (unsigned)__popc(x), (unsigned)__clz(x), __brev(x), (unsigned)__ffs(x),
        __byte_perm(x, y, 0x5360), __funnelshift_l(x, y, y), __funnelshift_r(x, y, 5), __umulhi(x, y),
        (unsigned)__mulhi((int)x, (int)y), __usad(x, y, 7), (x & y) ^ ~(x | 0xF0F0u), x / (y | 1),
        (unsigned)((int)x / (int)(y | 1)), (unsigned)((int)x % (int)(y | 1)), (unsigned)min((int)x, (int)y),
        max(x, y), x >> (y & 31),      (unsigned)((int)x >> (y & 31)), x << (y & 31),
        __dp4a(x, y, 11u), (x >> 7) & 0x1FFF,  (unsigned)abs((int)x), (unsigned)__popcll((unsigned long long)x * y),
        (unsigned)(((unsigned long long)x * y + x) >> 17),
    };
    for (int row = 0; row < 24; row++) out[(long)row * n + i] = found[row];
}
