// Functions of CUDA's library, a template, a switch, and assembly with scopes of its own.
template <typename T, int N> struct Window {
  template <typename F> static __device__ T sum(const T *in, F f) {
    T total = 0;
#pragma unroll
    for (int k = 0; k < N; ++k) total += f(in[k]);
    return total;
  }
};

template <typename T, int N> __global__ void squares(const T *in, T *out) {
  out[threadIdx.x] = Window<T, N>::sum(in + threadIdx.x, [](T x) { return x * x; });
}
template __global__ void squares<double, 3>(const double *, double *);

extern "C" __global__ void curves(float *x, double *y) {
  int i = threadIdx.x;
  x[i] = sinf(x[i]) + powf(x[i], 1.5f) + expf(x[i]);
  y[i] = exp(y[i]) + fmod(y[i], 3.0);
}

extern "C" __global__ void choose(int *x, int k) {
  int v = x[threadIdx.x];
  switch (k) {
    case 0: v = v * 3 + 1; break;
    case 1: v = v / 7; break;
    case 2: v ^= 0x55; break;
    case 3: v = __popc(v); break;
    case 4: v = atomicAdd(x + 32, v); break;
    default: v = 0;
  }
  x[threadIdx.x] = v;
}

extern "C" __global__ void assembly(unsigned *flags, unsigned *out) {
  extern __shared__ unsigned dynamic[];
  __shared__ unsigned fixed[4][8];
  unsigned v;
  asm volatile("{\n .reg .pred p;\n .reg .b32 t;\n"
               "wait:\n ld.acquire.gpu.global.u32 t, [%1];\n setp.eq.u32 p, t, 0;\n @p bra wait;\n"
               " mov.u32 %0, t;\n}" : "=r"(v) : "l"(flags) : "memory");
  dynamic[threadIdx.x] = v;
  fixed[threadIdx.x & 3][threadIdx.x & 7] = v;
  __syncthreads();
  asm volatile("{\n .reg .pred p, q;\n setp.gt.and.s32 p|q, %1, 4, 1;\n selp.u32 %0, 0x1F, 0b101, p;\n}"
               : "=r"(v) : "r"(v));
  out[threadIdx.x] = v + dynamic[threadIdx.x ^ 1] + fixed[threadIdx.x & 3][1] + __shfl_xor_sync(~0u, v, 1);
}
