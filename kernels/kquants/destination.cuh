// Where a product goes, as it is compiled: into a vector, or with RESIDUAL_STREAM onto a residual stream, of which
// it leaves what the next products read: q8 groups that lack the factor of the RMS norm, which hangs on all rows.
#pragma once

#include "quantization.cuh"
#include "row_sums.cuh"

// Rows of a block are those of its teams, round by round.
struct Vector {
    float* output;

    struct Fetched {};
    static constexpr bool WAITS_FOR_ALL_WARPS = WARPS_PER_ROW > 1;

    static __device__ __forceinline__ int first_row() { return blockIdx.x * TEAMS; }
    static __device__ __forceinline__ int step() { return gridDim.x * TEAMS; }
    // The same for all teams of a block, so that warps stay together; teams behind the last row do nothing.
    static __device__ __forceinline__ int rounds(int rows) { return (rows - first_row() + step() - 1) / step(); }
    static __device__ __forceinline__ int end(int rows) { return rows; }

    __device__ __forceinline__ Fetched fetch() const { return {}; }
    __device__ __forceinline__ void store(int row, float sum) const { output[row] = sum; }
    __device__ __forceinline__ void finish(const Fetched&, const RowSums& sums, int rows) const {
        for (int index = threadIdx.x; index < rounds(rows) * TEAMS; index += THREADS) {
            const int row = first_row() + index / TEAMS * step() + index % TEAMS;
            if (row < rows) store(row, sums.of_row(index));
        }
    }
};

#ifdef RESIDUAL_STREAM
// A block computes the 32 rows of one group, and no other block has to be waited for.
struct ResidualStream {
    float* residual;
    const float* norm_weight;
    u8* groups;      // of residual * norm_weight: fp32 scale, 32 signed bytes
    float* squares;  // [groups] sums of residual**2

    struct Fetched {
        float residual, norm_weight;
    };
    static constexpr bool WAITS_FOR_ALL_WARPS = true;
    static constexpr int ROWS = 32;
    static_assert(ROWS % TEAMS == 0, "the teams of a block compute a group in whole rounds");

    static __device__ __forceinline__ int first_row() { return blockIdx.x * ROWS; }
    static __device__ __forceinline__ int step() { return TEAMS; }
    static __device__ __forceinline__ int rounds(int) { return ROWS / TEAMS; }
    static __device__ __forceinline__ int end(int) { return first_row() + ROWS; }

    __device__ __forceinline__ Fetched fetch() const {
        const int row = first_row() + threadIdx.x % ROWS;
        return {residual[row], norm_weight[row]};
    }

    __device__ __forceinline__ void store(int, float) const {}

    __device__ __forceinline__ void finish(const Fetched& fetched, const RowSums& sums, int) const {
        if (threadIdx.x >= ROWS) return;
        const float sum = __fadd_rn(fetched.residual, sums.of_row(threadIdx.x));
        const float weighted = __fmul_rn(sum, fetched.norm_weight);
        float largest = fabsf(weighted), square = __fmul_rn(sum, sum);
#pragma unroll
        for (int distance = ROWS / 2; distance > 0; distance /= 2) {
            largest = larger(largest, __shfl_xor_sync(0xffffffff, largest, distance));
            square = __fadd_rn(square, __shfl_xor_sync(0xffffffff, square, distance));
        }
        const float scale = __fdiv_rn(largest, (float)LARGEST_VALUE);
        u8* group = groups + blockIdx.x * UNNORMALIZED_BYTES;
        residual[first_row() + threadIdx.x] = sum;
        group[UNNORMALIZED_VALUES_OFFSET + threadIdx.x] = (u8)quantized(weighted, scale);
        if (threadIdx.x != 0) return;
        *reinterpret_cast<float*>(group) = scale;
        squares[blockIdx.x] = square;
    }
};

typedef ResidualStream Destination;
#define DESTINATION_PARAMETERS float *residual, const float *norm_weight, u8 *groups, float *squares
#define DESTINATION Destination{residual, norm_weight, groups, squares}
#else
typedef Vector Destination;
#define DESTINATION_PARAMETERS float* output
#define DESTINATION Destination{output}
#endif
