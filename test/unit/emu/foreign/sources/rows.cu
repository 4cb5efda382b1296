// A block a row: softmax of f32 kept in dynamic shared memory, layer norm of f16 by Welford's method.

#include <cuda_fp16.h>

const unsigned ALL = 0xFFFFFFFFu;

__device__ float warp_max(float x) {
    for (int distance = 16; distance; distance /= 2) x = fmaxf(x, __shfl_xor_sync(ALL, x, distance));
    return x;
}

__device__ float warp_sum(float x) {
    for (int distance = 16; distance; distance /= 2) x += __shfl_xor_sync(ALL, x, distance);
    return x;
}

extern "C" __global__ void softmax(int columns, const float *in, float *out) {
    extern __shared__ float row[];
    __shared__ float parts[32];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, warps = blockDim.x / 32;
    in += (long)blockIdx.x * columns, out += (long)blockIdx.x * columns;

    float most = -INFINITY;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) most = fmaxf(most, row[i] = in[i]);
    most = warp_max(most);
    if (lane == 0) parts[warp] = most;
    __syncthreads();
    most = warp_max(lane < warps ? parts[lane] : -INFINITY);
    __syncthreads();

    float sum = 0;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) sum += row[i] = expf(row[i] - most);
    sum = warp_sum(sum);
    if (lane == 0) parts[warp] = sum;
    __syncthreads();
    sum = warp_sum(lane < warps ? parts[lane] : 0);

    for (int i = threadIdx.x; i < columns; i += blockDim.x) out[i] = row[i] / sum;
}

/// Count, mean, and sum of squared distances from it.
struct Moments {
    float count, mean, squares;
};

__device__ Moments merge(Moments a, Moments b) {
    const float count = a.count + b.count;
    if (count == 0) return a;
    const float delta = b.mean - a.mean, share = b.count / count;
    return {count, a.mean + delta * share, a.squares + b.squares + delta * delta * a.count * share};
}

__device__ Moments warp_merge(Moments m) {
    for (int distance = 16; distance; distance /= 2)
        m = merge(m, {__shfl_down_sync(ALL, m.count, distance), __shfl_down_sync(ALL, m.mean, distance),
                      __shfl_down_sync(ALL, m.squares, distance)});
    return m;
}

/// `columns` is even.
extern "C" __global__ void layer_norm(int columns, float epsilon, const __half2 *in, const __half2 *weight,
                                      const __half2 *bias, __half2 *out) {
    __shared__ Moments parts[32];
    __shared__ float mean, scale;
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, pairs = columns / 2;
    in += (long)blockIdx.x * pairs, out += (long)blockIdx.x * pairs;

    Moments m = {0, 0, 0};
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        const float2 x = __half22float2(in[i]);
        m = merge(m, {2, (x.x + x.y) / 2, (x.x - x.y) * (x.x - x.y) / 2});
    }
    m = warp_merge(m);
    if (lane == 0) parts[warp] = m;
    __syncthreads();
    if (warp == 0) {
        m = lane < blockDim.x / 32 ? parts[lane] : Moments{0, 0, 0};
        m = warp_merge(m);
        if (lane == 0) mean = m.mean, scale = rsqrtf(m.squares / m.count + epsilon);
    }
    __syncthreads();
    for (int i = threadIdx.x; i < pairs; i += blockDim.x) {
        const float2 x = __half22float2(in[i]);
        const __half2 normal = __floats2half2_rn((x.x - mean) * scale, (x.y - mean) * scale);
        out[i] = __hfma2(normal, weight[i], bias[i]);
    }
}
