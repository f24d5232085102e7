// A kernel that keeps many values alive at once. BOUNDS is a __launch_bounds__ or nothing.
extern "C" __global__ void BOUNDS accumulate(const float *input, float *output, int steps) {
    float sums[64];
#pragma unroll
    for (int i = 0; i < 64; ++i) sums[i] = input[i * 256 + threadIdx.x];
    for (int step = 0; step < steps; ++step) {
#pragma unroll
        for (int i = 0; i < 64; ++i) sums[i] = fmaf(sums[i], sums[(i + 1) % 64], input[step]);
    }
#pragma unroll
    for (int i = 0; i < 64; ++i) output[i * 256 + threadIdx.x] = sums[i];
}
