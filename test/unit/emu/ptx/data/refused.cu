// Calls that cannot be replaced by the body of a function.
__noinline__ __device__ int fibonacci(int n) { return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2); }

__device__ float twice(float x) { return 2 * x; }
__device__ float half_of(float x) { return x / 2; }
typedef float (*Unary)(float);
__device__ Unary unaries[2] = {twice, half_of};

extern "C" __global__ void recursive(int *out) { out[threadIdx.x] = fibonacci(threadIdx.x); }

extern "C" __global__ void pointer(float *out, int k) { out[threadIdx.x] = unaries[k & 1](out[threadIdx.x]); }

extern "C" __global__ void library(int **out, int n) { out[threadIdx.x] = (int *)malloc(n); }
