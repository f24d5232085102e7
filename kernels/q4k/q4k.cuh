// q4_K weights: 64 a task, from two times 16 bytes of nibbles and the block's header.
#pragma once

#include "../kquants/staging.cuh"

static_assert(
    FACTORS_OFFSET == 0 && SCALES_OFFSET == 4 && NIBBLES_OFFSET == 16, "a header is one 16-byte load");

struct Q4K {
    // Minima multiply the sum of the activations themselves. The sum is exact, its product rounded once.
    static __device__ __forceinline__ int prepared_sum(int sum, float scale) {
        return __float_as_int(__fmul_rn(scale, (float)sum));
    }

    // High nibbles stay where they are in their byte, 16 times too large.
    static __device__ __forceinline__ float scale_factor(int piece) { return piece & 1 ? 0.0625f : 1.0f; }

    struct Loaded {
        uint4 header;      // f16 factors of scales and minima, then eight of each of six bits
        uint4 nibbles[2];  // 64 bytes apart, so that a warp's 16 bytes are neighbours
    };

    // Pieces 0 and 1 are the nibbles of the first 16 bytes, 2 and 3 those of the second.
    static __device__ __forceinline__ int unit_in_block(int pair, int piece) {
        return 4 * (piece >> 1) + 2 * pair + (piece & 1);
    }

    static __device__ __forceinline__ u64 row_bytes(int blocks) { return (u64)blocks * BLOCK_BYTES; }

    static __device__ __forceinline__ Loaded load(const u8* row, int task, int) {
        const u8* block = row + (task >> 2) * BLOCK_BYTES;
        const u8* nibbles = block + NIBBLES_OFFSET + 16 * (task & 3);
        // 144 bytes are four sectors and a half: header and nibbles share some.
        return {load_shared_sector(block), {load_shared_sector(nibbles), load_shared_sector(nibbles + 64)}};
    }

    static __device__ __forceinline__ float product(const Loaded& loaded, const Staged& staged, int task) {
        const int4 sum = staged.sums[task];
        const float4 scale = staged.scales[task >> 1];
        const uint4 header = loaded.header;
        const int shift = 16 * ((task >> 1) & 1);
        // Groups 0..3 keep six bits in a byte each; of 4..7, four bits lie in the last word and two on top.
        const u32 scales_low = (header.y >> shift) & 0x3F3F, minima_low = (header.z >> shift) & 0x3F3F;
        const u32 scales_high = ((header.w & 0x0F0F0F0F) | ((header.y >> 2) & 0x30303030)) >> shift;
        const u32 minima_high = (((header.w >> 4) & 0x0F0F0F0F) | ((header.z >> 2) & 0x30303030)) >> shift;
        const int dots[4] = {
            byte(scales_low, 0) * dot(loaded.nibbles[0], staged.value(0, task), LOW_NIBBLES),
            byte(scales_low, 1) * dot(loaded.nibbles[0], staged.value(1, task), HIGH_NIBBLES),
            byte(scales_high, 0) * dot(loaded.nibbles[1], staged.value(2, task), LOW_NIBBLES),
            byte(scales_high, 1) * dot(loaded.nibbles[1], staged.value(3, task), HIGH_NIBBLES)};
        float weighted = __fmul_rn(scale.x, (float)dots[0]);
        weighted = __fmaf_rn(scale.y, (float)dots[1], weighted);
        weighted = __fmaf_rn(scale.z, (float)dots[2], weighted);
        weighted = __fmaf_rn(scale.w, (float)dots[3], weighted);
        float offset = __fmul_rn(__int_as_float(sum.x), (float)byte(minima_low, 0));
        offset = __fmaf_rn(__int_as_float(sum.y), (float)byte(minima_low, 1), offset);
        offset = __fmaf_rn(__int_as_float(sum.z), (float)byte(minima_high, 0), offset);
        offset = __fmaf_rn(__int_as_float(sum.w), (float)byte(minima_high, 1), offset);
        const float subtracted = __fmul_rn(half_to_float(header.x >> 16), offset);
        return __fmaf_rn(half_to_float(header.x), weighted, -subtracted);
    }

    static constexpr u32 LOW_NIBBLES = 0x0F0F0F0F, HIGH_NIBBLES = 0xF0F0F0F0;

    static __device__ __forceinline__ int byte(u32 word, int index) { return word >> (8 * index) & 0xFF; }

    // Exact, and so is its product with six bits: 16 times 240 * 127, times 63, is a multiple of 16 and below
    // 2**28.
    static __device__ __forceinline__ int dot(const uint4& bytes, const int4& value, u32 mask) {
        int sum = dot_unsigned(bytes.x & mask, value.x, 0);
        sum = dot_unsigned(bytes.y & mask, value.y, sum);
        sum = dot_unsigned(bytes.z & mask, value.z, sum);
        return dot_unsigned(bytes.w & mask, value.w, sum);
    }
};
