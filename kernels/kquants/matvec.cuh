// The course of a matrix-vector product, shared by formats and arms.
//
// Compiled with: THREADS of a block, LANES_PER_ROW (a team), TASKS_PER_LANE of a tile, BLOCKS_PER_SM that
// registers are kept for, for the pipelined arms PIPELINED_TASKS, and where its activations come from.
//
// What lane l of a team adds up is task l, then l + LANES_PER_ROW and so on; then come a butterfly over the
// lanes and a tree over the warps. None of it depends on the arm, the layout, or TASKS_PER_LANE, so these
// give the same bits. Every operation is an explicit single rounding: the compiler fuses none.
#pragma once

#include "activations.cuh"

constexpr int TEAMS = THREADS / LANES_PER_ROW;
constexpr int WARP = 32;
constexpr int WARPS_PER_ROW = LANES_PER_ROW / WARP;  // 0 where a warp computes several rows
static_assert(THREADS % LANES_PER_ROW == 0, "a block holds whole teams");

__device__ __forceinline__ float sum_of_lanes(float total) {
    constexpr int LANES = LANES_PER_ROW < WARP ? LANES_PER_ROW : WARP;
#pragma unroll
    for (int distance = LANES / 2; distance > 0; distance /= 2)
        total = __fadd_rn(total, __shfl_xor_sync(0xffffffff, total, distance));
    return total;
}

__device__ __forceinline__ float sum_of_warps(const float* partial) {
    float sums[WARPS_PER_ROW + 1];
#pragma unroll
    for (int i = 0; i < WARPS_PER_ROW; i++) sums[i] = partial[i];
#pragma unroll
    for (int distance = WARPS_PER_ROW / 2; distance > 0; distance /= 2)
#pragma unroll
        for (int i = 0; i < distance; i++) sums[i] = __fadd_rn(sums[i], sums[i + distance]);
    return sums[0];
}

template <class Format>
struct Tile {
    typename Format::Loaded tasks[TASKS_PER_LANE];

    __device__ __forceinline__ void load(const u8* row, int first, int end, int blocks) {
#pragma unroll
        for (int i = 0; i < TASKS_PER_LANE; i++)
            if (first + i * LANES_PER_ROW < end)
                tasks[i] = Format::load(row, first + i * LANES_PER_ROW, blocks);
    }

    __device__ __forceinline__ float add_to(float total, int first, int end, const Staged& staged) const {
#pragma unroll
        for (int i = 0; i < TASKS_PER_LANE; i++)
            if (first + i * LANES_PER_ROW < end)
                total = __fadd_rn(total, Format::product(tasks[i], staged, first + i * LANES_PER_ROW));
        return total;
    }
};

// Multiplies the rows of one block. A team waits for a whole tile, sends for the next one, be it of the next
// row, and then uses the first: a warp has six counters to wait on, so that loads which were sent for one
// by one between the uses share them, and are waited for too early.
//
// LOOP: whether a row may have more than one tile. Without it those behind the first are left out, and so are
// tasks from `covered` on.
template <class Format, bool LOOP>
__device__ __forceinline__ void multiply(
    const u8* __restrict__ weights, const u8* __restrict__ activations, float* __restrict__ output, int rows,
    int blocks, int covered) {
    extern __shared__ int4 memory[];
    const Staged staged = staged_at(memory, blocks * TASKS_PER_BLOCK);
    float* partials = staged.behind();
    const int used = min(staged.tasks, covered);

    const int lane = threadIdx.x % LANES_PER_ROW;
    const int step = gridDim.x * TEAMS;
    const u64 row_bytes = Format::row_bytes(blocks);
    // The same for all teams of a block, so that warps stay together; teams behind the last row do nothing.
    const int rounds = (rows - (int)blockIdx.x * TEAMS + step - 1) / step;
    int row = blockIdx.x * TEAMS + threadIdx.x / LANES_PER_ROW;
    int first = lane, end = row < rows ? used : 0;

    // Weights depend on no other kernel. The branch keeps their loads ahead of the wait: without one, the
    // assembler moves the wait up.
    Tile<Format> next;
    let_next_kernel_start();
    if (row < rows) next.load(weights + row * row_bytes, first, end, blocks);
    wait_for_previous_kernel();
    Activations{activations}.stage<Format>(staged);
    __syncthreads();

    float total = 0.0f;
    for (int round = 0; round < rounds;) {
        const Tile<Format> tile = next;
        const bool row_ends = !LOOP || first - lane + TASKS_PER_LANE * LANES_PER_ROW >= used;
        const int next_row = row_ends ? row + step : row;
        const int next_first = row_ends ? lane : first + TASKS_PER_LANE * LANES_PER_ROW;
        const int next_end = next_row < rows ? used : 0;
        next.load(weights + next_row * row_bytes, next_first, next_end, blocks);
        total = tile.add_to(total, first, end, staged);
        if (row_ends) {
            total = sum_of_lanes(total);
            if (WARPS_PER_ROW > 1) {
                if (threadIdx.x % WARP == 0) partials[round * (THREADS / WARP) + threadIdx.x / WARP] = total;
            } else if (lane == 0 && row < rows) {
                output[row] = total;
            }
            round++;
            total = 0.0f;
        }
        row = next_row;
        first = next_first;
        end = next_end;
    }
    if (WARPS_PER_ROW > 1) {
        __syncthreads();
        for (int index = threadIdx.x; index < rounds * TEAMS; index += THREADS) {
            const int done = index / TEAMS * step + blockIdx.x * TEAMS + index % TEAMS;
            if (done < rows) output[done] = sum_of_warps(partials + index * WARPS_PER_ROW);
        }
    }
}
