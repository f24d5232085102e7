// The sums of a block's rows: how its threads are told off to rows, and how their parts come together.
#pragma once

constexpr int WARP = 32;
constexpr int TEAMS = THREADS / LANES_PER_ROW;
constexpr int WARPS_PER_ROW = LANES_PER_ROW < WARP ? 1 : LANES_PER_ROW / WARP;
constexpr int LANES_TOGETHER = LANES_PER_ROW < WARP ? LANES_PER_ROW : WARP;
static_assert(THREADS % LANES_PER_ROW == 0, "a block holds whole teams");
static_assert(THREADS % WARP == 0, "a block holds whole warps");

__device__ __forceinline__ float sum_of_lanes(float total) {
#pragma unroll
    for (int distance = LANES_TOGETHER / 2; distance > 0; distance /= 2)
        total = __fadd_rn(total, __shfl_xor_sync(0xffffffff, total, distance));
    return total;
}

// Sums of warps that wait in shared memory: [rows of the block, WARPS_PER_ROW].
struct RowSums {
    float* of_warps;

    __device__ __forceinline__ void keep(int round, float total) const {
        if (threadIdx.x % LANES_TOGETHER == 0)
            of_warps[round * (THREADS / LANES_TOGETHER) + threadIdx.x / LANES_TOGETHER] = total;
    }

    __device__ __forceinline__ float of_row(int index) const {
        float sums[WARPS_PER_ROW];
#pragma unroll
        for (int i = 0; i < WARPS_PER_ROW; i++) sums[i] = of_warps[index * WARPS_PER_ROW + i];
#pragma unroll
        for (int distance = WARPS_PER_ROW / 2; distance > 0; distance /= 2)
#pragma unroll
            for (int i = 0; i < distance; i++) sums[i] = __fadd_rn(sums[i], sums[i + distance]);
        return sums[0];
    }
};
