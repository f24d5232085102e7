// Where a product takes its activations from, as it is compiled: q8 groups, or with UNNORMALIZED those that a
// residual stream was left with, whose norm every block completes as it stages them.
#pragma once

#include "staging.cuh"

struct QuantizedGroups {
    const u8* bytes;

    template <class Format>
    __device__ __forceinline__ void stage(const Staged& staged) const {
        for (int index = threadIdx.x; index < staged.pieces(); index += THREADS) {
            const u32* group = reinterpret_cast<const u32*>(bytes + unit_of<Format>(index) * ACTIVATION_BYTES);
            const u32* words = group + ACTIVATION_VALUES_OFFSET / 4 + 4 * half_of(index);
            place<Format>(staged, index, make_int4(words[0], words[1], words[2], words[3]), group[0]);
        }
    }
};

#ifdef UNNORMALIZED
struct UnnormalizedGroups {
    const u8* bytes;
    const float* squares;
    float epsilon;

    struct Piece {
        int4 value;
        float scale;
    };

    // The first piece is sent for ahead of the sum over all groups, which takes as long as memory.
    template <class Format>
    __device__ __forceinline__ void stage(const Staged& staged) const {
        int index = threadIdx.x;
        Piece piece;
        if (index < staged.pieces()) piece = load<Format>(index);
        const float factor = inverse_root(2 * staged.tasks);
        while (index < staged.pieces()) {
            place<Format>(staged, index, piece.value, float_to_half(__fmul_rn(piece.scale, factor)));
            index += THREADS;
            if (index < staged.pieces()) piece = load<Format>(index);
        }
    }

    template <class Format>
    __device__ __forceinline__ Piece load(int index) const {
        const u8* group = bytes + unit_of<Format>(index) * UNNORMALIZED_BYTES;
        const u32* words = reinterpret_cast<const u32*>(group + UNNORMALIZED_VALUES_OFFSET) + 4 * half_of(index);
        return {make_int4(words[0], words[1], words[2], words[3]), *reinterpret_cast<const float*>(group)};
    }

    // A warp's lanes take one group each, or each several where a block has fewer threads than there are groups.
    __device__ __forceinline__ float inverse_root(int groups) const {
        __shared__ float of_warp[THREADS / 32];
        float sum = 0.0f;
#pragma unroll 1
        for (int group = threadIdx.x; group < groups; group += THREADS) sum = __fadd_rn(sum, squares[group]);
#pragma unroll
        for (int distance = 16; distance > 0; distance /= 2)
            sum = __fadd_rn(sum, __shfl_xor_sync(0xffffffff, sum, distance));
        if (threadIdx.x % 32 == 0) of_warp[threadIdx.x / 32] = sum;
        __syncthreads();
        float total = 0.0f;
        const int warps = min(THREADS, groups + 31) / 32;
#pragma unroll 4
        for (int warp = 0; warp < warps; warp++) total = __fadd_rn(total, of_warp[warp]);
        const float mean = __fdiv_rn(total, (float)(32 * groups));
        return __frsqrt_rn(__fadd_rn(mean, epsilon));
    }
};

typedef UnnormalizedGroups Activations;
#define ACTIVATION_PARAMETERS const u8 *activations, const float *squares_of_groups, float epsilon
#define ACTIVATIONS Activations{activations, squares_of_groups, epsilon}
#else
typedef QuantizedGroups Activations;
#define ACTIVATION_PARAMETERS const u8* activations
#define ACTIVATIONS Activations{activations}
#endif
