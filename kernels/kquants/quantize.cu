// A float vector to q8 groups: eight lanes a group, four elements each.
#include "quantization.cuh"

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

extern "C" __global__ void __launch_bounds__(THREADS) cuda_quantize(const u8* vector, u8* groups, int units) {
    let_next_kernel_start();
    const int index = blockIdx.x * THREADS + threadIdx.x;
    const int unit = index >> 3, part = index & 7;
    const bool inside = unit < units;
    wait_for_previous_kernel();
    const float4 value = inside ? load_four(vector, index) : make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float largest = largest_of_four(value);
#pragma unroll
    for (int distance = 4; distance > 0; distance /= 2)
        largest = larger(largest, __shfl_xor_sync(0xffffffff, largest, distance));
    const u32 scale_bits = scale_bits_of(largest);
    const int4 four = quantized_four(value, half_to_float(scale_bits));
    int sum = four.x + four.y + four.z + four.w;
#pragma unroll
    for (int distance = 4; distance > 0; distance /= 2) sum += __shfl_xor_sync(0xffffffff, sum, distance);
    if (!inside) return;
    u32* group = reinterpret_cast<u32*>(groups + unit * ACTIVATION_BYTES);
    group[ACTIVATION_VALUES_OFFSET / 4 + part] = four_bytes(four);
    if (part == 0) {
        group[0] = scale_bits;
        group[ACTIVATION_SUM_OFFSET / 4] = (u32)sum;
    }
}
