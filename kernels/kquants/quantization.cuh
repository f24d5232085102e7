// Floats to q8: ``d = amax / 127`` in half precision, ``q = clamp(rint(x / d))``.
#pragma once

#include "device.cuh"

__device__ __forceinline__ float larger(float a, float b) {
    float result;
    // fmaxf would drop a NaN, and with it the only sign that the vector was broken.
#if __CUDA_ARCH__ >= 800
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(result) : "f"(a), "f"(b));
#else
    result = a != a || a > b ? a : b;
#endif
    return result;
}

__device__ __forceinline__ u32 scale_bits_of(float largest) {
    return float_to_half(__fdiv_rn(largest, (float)LARGEST_VALUE));
}

__device__ __forceinline__ int quantized(float value, float scale) {
    const bool usable = scale > 0.0f && scale < __int_as_float(0x7F800000);
    const float quotient = usable ? __fdiv_rn(value, scale) : 0.0f;
    return (int)fminf(fmaxf(rintf(quotient), -(float)LARGEST_VALUE), (float)LARGEST_VALUE);
}

__device__ __forceinline__ u32 four_bytes(int4 values) {
    return (values.x & 0xFF) | (values.y & 0xFF) << 8 | (values.z & 0xFF) << 16 | (u32)values.w << 24;
}

__device__ __forceinline__ int4 quantized_four(float4 values, float scale) {
    return make_int4(
        quantized(values.x, scale), quantized(values.y, scale), quantized(values.z, scale),
        quantized(values.w, scale));
}

__device__ __forceinline__ float largest_of_four(float4 values) {
    return larger(larger(fabsf(values.x), fabsf(values.y)), larger(fabsf(values.z), fabsf(values.w)));
}
