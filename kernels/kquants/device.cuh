// What CUDA C++ has no portable word for, or only in headers that NVRTC has to be given.
#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

// A weight is read once a token: it need not push anything out of L1, nor stay there.
__device__ __forceinline__ uint4 load_streamed(const u8* address) {
    uint4 word;
    asm volatile("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(address));
    return word;
}

// For sectors that several loads of a warp share: L1 merges them.
__device__ __forceinline__ uint4 load_shared_sector(const u8* address) {
    uint4 word;
    asm volatile("ld.global.nc.v4.u32 {%0, %1, %2, %3}, [%4];"
                 : "=r"(word.x), "=r"(word.y), "=r"(word.z), "=r"(word.w)
                 : "l"(address));
    return word;
}

__device__ __forceinline__ uint2 load_pair(const u8* address) {
    uint2 word;
    asm volatile("ld.global.nc.v2.u32 {%0, %1}, [%2];" : "=r"(word.x), "=r"(word.y) : "l"(address));
    return word;
}

__device__ __forceinline__ u32 load_half(const u8* address) {
    u16 bits;
    asm volatile("ld.global.nc.u16 %0, [%1];" : "=h"(bits) : "l"(address));
    return bits;
}

__device__ __forceinline__ float half_to_float(u32 bits) {
    float value;
    asm("{ .reg .b16 low, high; mov.b32 {low, high}, %1; cvt.f32.f16 %0, low; }" : "=f"(value) : "r"(bits));
    return value;
}

__device__ __forceinline__ u32 float_to_half(float value) {
    u16 bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

__device__ __forceinline__ int signed_byte(u32 word, int index) {
    return (int)(word << (24 - 8 * index)) >> 24;
}

// Adds the products of four unsigned bytes with four signed ones.
__device__ __forceinline__ int dot_unsigned(u32 bytes, int values, int sum) {
    int result;
    asm("dp4a.u32.s32 %0, %1, %2, %3;" : "=r"(result) : "r"(bytes), "r"(values), "r"(sum));
    return result;
}

// Programmatic dependent launch (sm_90 on): a kernel that was started early waits here for the results of
// the one before it, and tells the one behind it to start early.
__device__ __forceinline__ void wait_for_previous_kernel() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

__device__ __forceinline__ void let_next_kernel_start() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}
