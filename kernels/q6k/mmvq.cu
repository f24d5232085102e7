// q6_K x q8 in CUDA C++: v2 and v2_pf, and their twins on dense planes.
#include "../kquants/matvec.cuh"
#include "q6k.cuh"

#ifdef DENSE_PLANES
typedef Q6K<DensePlanes> Format;
#define NAME(arm) arm##_dpl
#else
typedef Q6K<PaddedBlocks> Format;
#define NAME(arm) arm
#endif

#define PARAMETERS const u8 *weights, ACTIVATION_PARAMETERS, DESTINATION_PARAMETERS, int rows, int blocks

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) NAME(cuda_mmvq_v2)(PARAMETERS) {
    multiply<Format, true>(weights, ACTIVATIONS, DESTINATION, rows, blocks, blocks * TASKS_PER_BLOCK);
}

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS_PER_SM) NAME(cuda_mmvq_v2_pf)(PARAMETERS) {
    multiply<Format, false>(weights, ACTIVATIONS, DESTINATION, rows, blocks, PIPELINED_TASKS);
}
