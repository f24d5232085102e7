// q6_K weights: 64 a task, from two times 16 bytes of low bits and 16 of high ones.
#pragma once

#include "../kquants/staging.cuh"

// Blocks of 224 bytes one behind the other.
struct PaddedBlocks {
    static __device__ __forceinline__ u64 row_bytes(int blocks) { return (u64)blocks * PADDED_BLOCK_BYTES; }
    static __device__ __forceinline__ const u8* low(const u8* row, int block, int) {
        return row + block * PADDED_BLOCK_BYTES + QL_OFFSET;
    }
    static __device__ __forceinline__ const u8* high(const u8* row, int block, int) {
        return row + block * PADDED_BLOCK_BYTES + QH_OFFSET;
    }
    static __device__ __forceinline__ const u8* scales(const u8* row, int block, int) {
        return row + block * PADDED_BLOCK_BYTES + SCALES_OFFSET;
    }
    static __device__ __forceinline__ const u8* super_scale(const u8* row, int block, int) {
        return row + block * PADDED_BLOCK_BYTES + SUPER_SCALE_OFFSET;
    }
};

// The same fields, each of a whole row together: low bits, high bits, scales, factors.
struct DensePlanes {
    static __device__ __forceinline__ u64 row_bytes(int blocks) {
        return ((u64)blocks * RAW_BLOCK_BYTES + PLANE_ALIGNMENT - 1) / PLANE_ALIGNMENT * PLANE_ALIGNMENT;
    }
    static __device__ __forceinline__ const u8* low(const u8* row, int block, int) {
        return row + block * (QH_OFFSET - QL_OFFSET);
    }
    static __device__ __forceinline__ const u8* high(const u8* row, int block, int blocks) {
        return row + blocks * QH_OFFSET + block * (SCALES_OFFSET - QH_OFFSET);
    }
    static __device__ __forceinline__ const u8* scales(const u8* row, int block, int blocks) {
        return row + blocks * SCALES_OFFSET + block * (SUPER_SCALE_OFFSET - SCALES_OFFSET);
    }
    static __device__ __forceinline__ const u8* super_scale(const u8* row, int block, int blocks) {
        return row + blocks * SUPER_SCALE_OFFSET + block * (RAW_BLOCK_BYTES - SUPER_SCALE_OFFSET);
    }
};

template <class Layout>
struct Q6K {
    // Six bits count from 0 here; what the bias takes off is the pieces' sums times it.
    static __device__ __forceinline__ int prepared_sum(int sum, float) { return -WEIGHT_BIAS * sum; }

    static __device__ __forceinline__ float scale_factor(int) { return 1.0f; }

    struct Loaded {
        uint4 low[2];
        uint4 high;
        uint2 scales;
        u32 super_scale;
    };

    static __device__ __forceinline__ int unit_in_block(int chunk, int piece) { return 4 * chunk + piece; }

    static __device__ __forceinline__ u64 row_bytes(int blocks) { return Layout::row_bytes(blocks); }

    static __device__ __forceinline__ Loaded load(const u8* row, int task, int blocks) {
        const int block = task >> 2, chunk = (task >> 1) & 1, half = task & 1;
        const u8* low = Layout::low(row, block, blocks) + 64 * chunk + 16 * half;
        Loaded loaded;
        loaded.low[0] = load_streamed(low);
        loaded.low[1] = load_streamed(low + 32);
        loaded.high = load_streamed(Layout::high(row, block, blocks) + 32 * chunk + 16 * half);
        loaded.scales = load_pair(Layout::scales(row, block, blocks) + 8 * chunk);
        loaded.super_scale = load_half(Layout::super_scale(row, block, blocks));
        return loaded;
    }

    // Pieces 0 and 2 are the low and high nibbles of low[0], 1 and 3 those of low[1].
    static __device__ __forceinline__ u32 weights(u32 low, u32 high, int piece) {
        const u32 nibbles = piece < 2 ? low : low >> 4;
        const u32 pairs = piece < 2 ? high << (4 - 2 * piece) : high >> (2 * piece - 4);
        return (nibbles & 0x0F0F0F0F) | (pairs & 0x30303030);
    }

    static __device__ __forceinline__ float product(const Loaded& loaded, const Staged& staged, int task) {
        const int4 bias = staged.sums[task];
        const float4 scale = staged.scales[task >> 1];
        // Of eight scales, the even ones belong to the first halves of the units, the odd ones to the second.
        const u32 first = loaded.scales.x >> (8 * (task & 1)), second = loaded.scales.y >> (8 * (task & 1));
        const int dots[4] = {
            signed_byte(first, 0) * dot(loaded, staged.value(0, task), 0, bias.x),
            signed_byte(first, 2) * dot(loaded, staged.value(1, task), 1, bias.y),
            signed_byte(second, 0) * dot(loaded, staged.value(2, task), 2, bias.z),
            signed_byte(second, 2) * dot(loaded, staged.value(3, task), 3, bias.w)};
        float sum = __fmul_rn(scale.x, (float)dots[0]);
        sum = __fmaf_rn(scale.y, (float)dots[1], sum);
        sum = __fmaf_rn(scale.z, (float)dots[2], sum);
        sum = __fmaf_rn(scale.w, (float)dots[3], sum);
        return __fmul_rn(half_to_float(loaded.super_scale), sum);
    }

    // Exact: 16 products below 32 * 127, and times the scale below 2**24.
    static __device__ __forceinline__ int dot(const Loaded& loaded, const int4& value, int piece, int bias) {
        const uint4 low = loaded.low[piece & 1], high = loaded.high;
        int sum = __dp4a((int)weights(low.x, high.x, piece), value.x, bias);
        sum = __dp4a((int)weights(low.y, high.y, piece), value.y, sum);
        sum = __dp4a((int)weights(low.z, high.z, piece), value.z, sum);
        return __dp4a((int)weights(low.w, high.w, piece), value.w, sum);
    }
};
