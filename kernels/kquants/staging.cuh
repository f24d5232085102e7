// A q8 vector in shared memory, in the order in which tasks take it.
//
// A task is a lane's share of the work: 64 weights, four pieces of 16. Task t is number t % 4 of block t / 4.
// Number k holds half k % 2 of the block's units 2 * (k / 2) + {0, 1} and 4 more, or of 4 * (k / 2) + {0..3}:
// the format says which. Pieces lie with all first ones ahead of all second ones, so that neighbouring lanes
// read neighbouring 16 bytes.
#pragma once

#include "device.cuh"

struct Staged {
    int4* values;    // [4, tasks] 16 signed bytes
    int4* sums;      // [tasks] what Format::prepared_sum makes of the sums of the four pieces
    float4* scales;  // [tasks / 2] scales of the four pieces, times Format::scale_factor; tasks 2i and 2i + 1
                     // share units
    int tasks;

    __device__ __forceinline__ int4 value(int piece, int task) const { return values[piece * tasks + task]; }
    __device__ __forceinline__ int pieces() const { return 4 * tasks; }
    __device__ __forceinline__ float* behind() const { return reinterpret_cast<float*>(scales + tasks / 2); }
};

__device__ __forceinline__ Staged staged_at(int4* memory, int tasks) {
    return {memory, memory + 4 * tasks, reinterpret_cast<float4*>(memory + 5 * tasks), tasks};
}

// Piece `index` is number index % 4 of task index / 4. Those of the two halves of a unit are 4 apart.
template <class Format>
__device__ __forceinline__ int unit_of(int index) {
    return (index >> 4) * UNITS_PER_BLOCK + Format::unit_in_block((index >> 3) & 1, index & 3);
}

__device__ __forceinline__ int half_of(int index) { return (index >> 2) & 1; }

template <class Format>
__device__ __forceinline__ void place(const Staged& staged, int index, int4 value, u32 scale_bits) {
    const int task = index >> 2, piece = index & 3;
    const int ones = 0x01010101;
    const int sum =
        __dp4a(value.x, ones, __dp4a(value.y, ones, __dp4a(value.z, ones, __dp4a(value.w, ones, 0))));
    const float scale = half_to_float(scale_bits);
    staged.values[piece * staged.tasks + task] = value;
    reinterpret_cast<int*>(staged.sums)[index] = Format::prepared_sum(sum, scale);
    if ((task & 1) == 0)
        reinterpret_cast<float*>(staged.scales)[4 * (task >> 1) + piece] =
            __fmul_rn(scale, Format::scale_factor(piece));
}
