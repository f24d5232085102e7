// A float vector to q8 groups: eight lanes a group, four elements each.
#include "device.cuh"

constexpr float LARGEST_HALF = 65504.0f;

#if ELEMENT_BITS == 32
__device__ __forceinline__ float4 load_four(const u8* vector, int index) {
    return reinterpret_cast<const float4*>(vector)[index];
}
#else
__device__ __forceinline__ float widen(u32 bits) {
#ifdef BFLOAT16
    return __uint_as_float(bits << 16);
#else
    return half_to_float(bits);
#endif
}

__device__ __forceinline__ float4 load_four(const u8* vector, int index) {
    const uint2 bits = reinterpret_cast<const uint2*>(vector)[index];
    return make_float4(
        widen(bits.x & 0xFFFF), widen(bits.x >> 16), widen(bits.y & 0xFFFF), widen(bits.y >> 16));
}
#endif

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

__device__ __forceinline__ int quantized(float value, float scale) {
    const bool usable = scale > 0.0f && scale <= LARGEST_HALF;
    const float quotient = usable ? __fdiv_rn(value, scale) : 0.0f;
    return (int)fminf(fmaxf(rintf(quotient), -(float)LARGEST_VALUE), (float)LARGEST_VALUE);
}

extern "C" __global__ void __launch_bounds__(THREADS) cuda_quantize(const u8* vector, u8* groups, int units) {
    let_next_kernel_start();
    const int index = blockIdx.x * THREADS + threadIdx.x;
    const int unit = index >> 3, part = index & 7;
    const bool inside = unit < units;
    wait_for_previous_kernel();
    const float4 value = inside ? load_four(vector, index) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float largest = larger(larger(fabsf(value.x), fabsf(value.y)), larger(fabsf(value.z), fabsf(value.w)));
#pragma unroll
    for (int distance = 4; distance > 0; distance /= 2)
        largest = larger(largest, __shfl_xor_sync(0xffffffff, largest, distance));
    const u32 scale_bits = float_to_half(__fdiv_rn(largest, (float)LARGEST_VALUE));
    const float scale = half_to_float(scale_bits);
    const int4 four = make_int4(
        quantized(value.x, scale), quantized(value.y, scale), quantized(value.z, scale),
        quantized(value.w, scale));
    int sum = four.x + four.y + four.z + four.w;
#pragma unroll
    for (int distance = 4; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (!inside) return;
    u32* group = reinterpret_cast<u32*>(groups + unit * ACTIVATION_BYTES);
    group[ACTIVATION_VALUES_OFFSET / 4 + part] =
        (four.x & 0xFF) | (four.y & 0xFF) << 8 | (four.z & 0xFF) << 16 | (u32)four.w << 24;
    if (part == 0) {
        group[0] = scale_bits;
        group[ACTIVATION_SUM_OFFSET / 4] = (u32)sum;
    }
}
