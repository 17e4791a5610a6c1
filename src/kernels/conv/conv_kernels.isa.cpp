// kernels/conv/conv_kernels.isa.cpp - the loops of convolutions of this ISA.
#include "kernels/conv/conv_kernels.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ConvKernels kSet = {
    .isa = Isa::SDX_ISA,
    .lanes = kLanes,
    .depthwise_band = DepthwiseBandFor,
    .depthwise_run = DepthwiseRun,
};

}  // namespace

const ConvKernels& ConvKernelSet() { return kSet; }

}  // namespace sardonyx::kernels::SDX_ISA
