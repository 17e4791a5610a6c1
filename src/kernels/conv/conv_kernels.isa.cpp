// kernels/conv/conv_kernels.isa.cpp - the set of convolution loops of this ISA.
#include "kernels/conv/conv_kernels.h"

#include "kernels/simd/vec_f32.h"

namespace sardonyx::kernels::SDX_ISA {
namespace {

constexpr ConvKernels kSet = {
    .isa = Isa::SDX_ISA,
    .lanes = kLanes,
    .depthwise_band = DepthwiseBandFor,
    .depthwise_run = DepthwiseRun,
    .grouped_band1 = GroupedBand1,
    .grouped_band2 = GroupedBand2,
    .winograd_in2 = WinogradIn2,
    .winograd_in4 = WinogradIn4,
    .winograd_out2 = WinogradOut2,
    .winograd_out4 = WinogradOut4,
    .winograd_weights2 = WinogradWeights2,
    .winograd_weights4 = WinogradWeights4,
};

}  // namespace

const ConvKernels& ConvKernelSet() { return kSet; }

}  // namespace sardonyx::kernels::SDX_ISA
