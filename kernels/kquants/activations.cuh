// Where a product takes its activations from, as it is compiled: q8 groups, or with HALF_VECTOR a vector of halves,
// which every block quantizes for itself: in the time of a kernel that all would wait for, and one launch less.
#pragma once

#include "quantization.cuh"
#include "staging.cuh"

// Sixteen consecutive floats of a vector: half a unit. The other half is with the thread four lanes away.
struct Sixteen {
    float4 fours[4];

    template <class Format>
    __device__ __forceinline__ void place_in(const Staged& staged, int index) const {
        float largest = larger(
            larger(largest_of_four(fours[0]), largest_of_four(fours[1])),
            larger(largest_of_four(fours[2]), largest_of_four(fours[3])));
        // There are pieces for eight neighbouring lanes, or for none of them.
        const u32 neighbours = 0xFFu << (threadIdx.x & 24);
        largest = larger(largest, __shfl_xor_sync(neighbours, largest, 4));
        const u32 scale_bits = scale_bits_of(largest);
        const float scale = half_to_float(scale_bits);
        const int4 value = make_int4(
            four_bytes(quantized_four(fours[0], scale)), four_bytes(quantized_four(fours[1], scale)),
            four_bytes(quantized_four(fours[2], scale)), four_bytes(quantized_four(fours[3], scale)));
        place<Format>(staged, index, value, scale_bits);
    }
};

template <class Format>
__device__ __forceinline__ int first_element(int index) {
    return 32 * unit_of<Format>(index) + 16 * half_of(index);
}

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

struct HalfVector {
    const u8* bytes;

    template <class Format>
    __device__ __forceinline__ void stage(const Staged& staged) const {
        for (int index = threadIdx.x; index < staged.pieces(); index += THREADS) {
            const uint4* words = reinterpret_cast<const uint4*>(bytes + 2 * first_element<Format>(index));
            Sixteen sixteen;
#pragma unroll
            for (int i = 0; i < 2; i++) {
                const uint4 eight = words[i];
                sixteen.fours[2 * i] = widened(eight.x, eight.y);
                sixteen.fours[2 * i + 1] = widened(eight.z, eight.w);
            }
            sixteen.place_in<Format>(staged, index);
        }
    }

    static __device__ __forceinline__ float4 widened(u32 low, u32 high) {
        return make_float4(
            half_to_float(low), half_to_float(low >> 16), half_to_float(high), half_to_float(high >> 16));
    }
};

#ifdef HALF_VECTOR
typedef HalfVector Activations;
#else
typedef QuantizedGroups Activations;
#endif
