#define BOUNDS __launch_bounds__(256, 6)
#include "pressure.cuh"
