// Shared, constant, local and dynamic memory; barriers by name; barriers that count; calls and jumps by a table.

/// A transposed matrix, by tiles of 32 x 33. Blocks of 32 x 8 threads.
extern "C" __global__ void transpose(int rows, int columns, const float *in, float *out) {
    __shared__ float tile[32][33];
    const int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (x < columns && y + j < rows) tile[threadIdx.y + j][threadIdx.x] = in[(long)(y + j) * columns + x];
    __syncthreads();
    const int u = blockIdx.y * 32 + threadIdx.x, v = blockIdx.x * 32 + threadIdx.y;
    for (int j = 0; j < 32; j += 8)
        if (u < rows && v + j < columns) out[(long)(v + j) * rows + u] = tile[threadIdx.x][threadIdx.y + j];
}

__constant__ int primes[8] = {2, 3, 5, 7, 11, 13, 17, 19};

__device__ __noinline__ long long power(long long base, int exponent) {
    long long found = 1;
    for (; exponent > 0; exponent /= 2, base *= base)
        if (exponent % 2) found *= base;
    return found;
}

/// x + 1, x * x, -x or x, by a jump through a table.
__device__ int jump(unsigned which, int x) {
    asm("{\n\t"
        "cases: .branchtargets ONE, SQUARE, MINUS, SAME;\n\t"
        "brx.idx %1, cases;\n\t"
        "ONE: add.s32 %0, %0, 1; bra SAME;\n\t"
        "SQUARE: mul.lo.s32 %0, %0, %0; bra.uni SAME;\n\t"
        "MINUS: neg.s32 %0, %0;\n\t"
        "SAME:\n\t"
        "}"
        : "+r"(x)
        : "r"(which));
    return x;
}

extern "C" __global__ void jumps(int n, const int *which, int *x) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) x[i] = jump(which[i] & 3, jump((which[i] >> 2) & 3, x[i]));
}

/// A machine with a stack: a program a thread, of `length` bytes, numbers pushed from `inputs`.
extern "C" __global__ void interpret(int n, int length, const unsigned char *programs, const int *inputs,
                                     long long *out) {
    const int thread = blockIdx.x * blockDim.x + threadIdx.x;
    if (thread >= n) return;
    long long stack[16];
    int top = 0;
    for (int at = 0; at < length; at++) {
        const unsigned char code = programs[(long)thread * length + at];
        if (code >= 16) {
            stack[top++] = inputs[code % 16];
            continue;
        }
        long long b = stack[--top], a = code < 7 ? stack[--top] : 0;
        switch (code) {
            case 0: a = a + b; break;
            case 1: a = a - b; break;
            case 2: a = a * b; break;
            case 3: a = b ? a / b : 0; break;
            case 4: a = b ? a % b : 0; break;
            case 5: a = power(a, (int)(b & 7)); break;
            case 6: a = a < b ? a : b; break;
            case 7: a = -b; break;
            case 8: a = primes[b & 7]; break;
            case 9: a = ~b; break;
            case 10: a = __popcll(b); break;
            case 11: a = b >> 3; break;
            default: a = b; break;
        }
        stack[top++] = a;
    }
    out[thread] = stack[0];
}

/// A warp that loads and others that each add all, by two pairs of barriers: 1 and 2 say that a part of shared memory
/// is full, 3 and 4 that it is free. `n` is a multiple of 32; out[w * 32 + i] = the sum of in[k * 32 + i] over k.
extern "C" __global__ void pipeline(int n, const int *in, int *out) {
    __shared__ int parts[2][32];
    const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, threads = blockDim.x, steps = n / 32;
    int sum = 0;
    for (int step = 0; step < steps; step++) {
        const int part = step % 2;
        if (warp == 0) {
            if (step >= 2) asm volatile("bar.sync %0, %1;" ::"r"(3 + part), "r"(threads) : "memory");
            parts[part][lane] = in[step * 32 + lane];
            asm volatile("bar.arrive %0, %1;" ::"r"(1 + part), "r"(threads) : "memory");
        } else {
            asm volatile("bar.sync %0, %1;" ::"r"(1 + part), "r"(threads) : "memory");
            sum += parts[part][(lane + warp) % 32];
            if (step + 2 < steps) asm volatile("bar.arrive %0, %1;" ::"r"(3 + part), "r"(threads) : "memory");
        }
    }
    if (warp > 0) out[(warp - 1) * 32 + (lane + warp) % 32] = sum;
}

/// Of a block: how many are negative, whether all are even, whether any is 7; and its elements reversed.
extern "C" __global__ void counted(const int *in, int *out, int *found) {
    extern __shared__ int kept[];
    const int x = in[blockIdx.x * blockDim.x + threadIdx.x];
    kept[threadIdx.x] = x;
    const int negative = __syncthreads_count(x < 0);
    out[blockIdx.x * blockDim.x + threadIdx.x] = kept[blockDim.x - 1 - threadIdx.x];
    const int even = __syncthreads_and(x % 2 == 0), seven = __syncthreads_or(x == 7);
    if (threadIdx.x == 0) {
        int *const mine = found + blockIdx.x * 3;
        mine[0] = negative, mine[1] = even != 0, mine[2] = seven != 0;
    }
}

/// All blocks wait for each other. `count` begins as 0.
__device__ void grid_barrier(unsigned *count) {
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        const unsigned ticket = atomicAdd(count, 1), want = ticket - ticket % gridDim.x + gridDim.x;
        unsigned seen;
        do asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(count) : "memory");
        while ((int)(seen - want) < 0);
        __threadfence();
    }
    __syncthreads();
}

/// Steps of x[i] += x[i - 1] - 3 x[i + 1] on a ring, from one of two buffers to the other. All blocks at once.
extern "C" __global__ void ring(int n, int steps, int *a, int *b, unsigned *count) {
    for (int step = 0; step < steps; step++) {
        for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
            b[i] = a[i] + a[i ? i - 1 : n - 1] - 3 * a[i + 1 < n ? i + 1 : 0];
        int *const other = a;
        a = b, b = other;
        if (step + 1 < steps) grid_barrier(count);
    }
}
