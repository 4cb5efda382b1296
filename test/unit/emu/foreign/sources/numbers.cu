// f64 and i64 with divisions and functions of libdevice; conversions between all kinds of numbers; packed arithmetic.

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

/// A result a row.
extern "C" __global__ void doubles(int n, const double *a, const double *b, double *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const double x = a[i], y = b[i];
    const double found[] = {
        x / y, sqrt(fabs(x)), rsqrt(fabs(x)), sin(x),        exp(y), log(fabs(x)), fma(x, y, 1.0),
        pow(fabs(x), y), floor(x), fmin(x, y), copysign(x, y), tanh(y), cos(x * 1e9), rint(x),
    };
    for (int row = 0; row < 14; row++) out[(long)row * n + i] = found[row];
}

/// The same in f32.
extern "C" __global__ void singles(int n, const float *a, const float *b, float *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = a[i], y = b[i];
    const float found[] = {
        x / y, sqrtf(fabsf(x)), rsqrtf(fabsf(x)), sinf(x),         expf(y), logf(fabsf(x)), fmaf(x, y, 1.0f),
        powf(fabsf(x), y), floorf(x), fminf(x, y), copysignf(x, y), tanhf(y), cosf(x * 1e6f), rintf(x),
    };
    for (int row = 0; row < 14; row++) out[(long)row * n + i] = found[row];
}

extern "C" __global__ void longs(int n, const long long *a, const long long *b, long long *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const long long x = a[i], y = b[i];
    const unsigned long long u = x, v = y;
    const long long found[] = {
        x / y, x % y, (long long)(u / v), (long long)(u % v), __mul64hi(x, y), (long long)__umul64hi(u, v), x * y,
        __clzll(x), (long long)__brevll(u), x < y ? x : y, x >> (y & 63), (long long)(u >> (y & 63)),
    };
    for (int row = 0; row < 12; row++) out[(long)row * n + i] = found[row];
}

/// From f32: to integers that saturate, and to narrow floats and back.
extern "C" __global__ void conversions(int n, const float *in, int *out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = in[i];
    const int found[] = {
        (int)x,
        (int)(unsigned)x,
        __float2int_rn(x),
        __float2int_rd(x),
        __float2int_ru(x),
        (int)(signed char)(int)x,
        (int)(long long)(x * 8),
        __half_as_ushort(__float2half_rn(x)),
        __half_as_ushort(__float2half_rz(x)),
        __bfloat16_as_ushort(__float2bfloat16_rn(x)),
        __bfloat16_as_ushort(__float2bfloat16_rz(x)),
        (int)__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E4M3),
        (int)__nv_cvt_float_to_fp8(x, __NV_SATFINITE, __NV_E5M2),
        __float_as_int((float)(double)x * 2),
        __float_as_int((float)(int)x),
        __float_as_int(__uint2float_rz((unsigned)i * 0x9E3779B9u)),
        __float_as_int(__saturatef(x)),
        __half_as_ushort(__short2half_rn((short)(int)x)),
        __half_as_ushort(__half(__nv_cvt_fp8_to_halfraw((unsigned char)i, __NV_E4M3))),
        __half_as_ushort(__half(__nv_cvt_fp8_to_halfraw((unsigned char)i, __NV_E5M2))),
    };
    for (int row = 0; row < 20; row++) out[(long)row * n + i] = found[row];
}

/// Pairs of f16 and of bf16: a result a row.
extern "C" __global__ void packed(int n, const __half2 *a, const __half2 *b, __half2 *out, const __nv_bfloat162 *c,
                                  const __nv_bfloat162 *d, __nv_bfloat162 *more) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const __half2 x = a[i], y = b[i];
    const __half2 found[] = {
        __hadd2(x, y),  __hsub2(x, y), __hmul2(x, y),     __hfma2(x, y, x), __hmin2(x, y),    __hmax2_nan(x, y),
        __habs2(x),     __hneg2(x),    __hfma2_relu(x, y, y), __lowhigh2highlow(x), __hlt2(x, y),
    };
    for (int row = 0; row < 11; row++) out[(long)row * n + i] = found[row];
    const __nv_bfloat162 u = c[i], v = d[i];
    const __nv_bfloat162 other[] = {
        __hadd2(u, v), __hsub2(u, v), __hmul2(u, v), __hfma2(u, v, u), __hmin2(u, v), __hmax2(u, v), __habs2(u),
    };
    for (int row = 0; row < 7; row++) more[(long)row * n + i] = other[row];
}

#define F32(name)                                       \
    __device__ float name##_f32(float x) {              \
        float y;                                        \
        asm(#name ".approx.f32 %0, %1;" : "=f"(y) : "f"(x)); \
        return y;                                       \
    }
#define PACKED(name, type)                                    \
    __device__ unsigned name(unsigned x) {                    \
        unsigned y;                                           \
        asm(type " %0, %1;" : "=r"(y) : "r"(x));              \
        return y;                                             \
    }
F32(ex2) F32(lg2) F32(rsqrt) F32(rcp) F32(sqrt) F32(tanh) F32(sin) F32(cos)
PACKED(ex2_f16, "ex2.approx.f16x2")
PACKED(tanh_f16, "tanh.approx.f16x2")
PACKED(ex2_bf16, "ex2.approx.ftz.bf16x2")
PACKED(tanh_bf16, "tanh.approx.bf16x2")

/// The approximations of PTX, a result a row: of f32, and of what `pairs` holds as f16 and as bf16.
extern "C" __global__ void approximations(int n, const float *in, const unsigned *pairs, float *out, unsigned *more) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const float x = in[i];
    const float found[] = {ex2_f32(x), lg2_f32(fabsf(x)), rsqrt_f32(fabsf(x)), rcp_f32(x), sqrt_f32(fabsf(x)),
                           tanh_f32(x), sin_f32(x), cos_f32(x), __fdividef(x, 0.7f), __expf(x), __logf(fabsf(x))};
    for (int row = 0; row < 11; row++) out[(long)row * n + i] = found[row];
    const unsigned pair = pairs[i];
    const unsigned other[] = {ex2_f16(pair), tanh_f16(pair), ex2_bf16(pair), tanh_bf16(pair)};
    for (int row = 0; row < 4; row++) more[(long)row * n + i] = other[row];
}
