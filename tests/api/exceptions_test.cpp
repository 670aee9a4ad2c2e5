// What a run that died of one of the commonest exceptions is told: a cause for the program's own mistake, and not its packages.

#include <aplomb/diagnose.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>

namespace aplomb::api {
namespace {

struct Case {
  const char* exception;
  const char* cause;
};

constexpr Case k_cases[] = {
    {"RuntimeError: mat1 and mat2 shapes cannot be multiplied (32x784 and 512x10)",
     "setup.layer-width"},
    {"RuntimeError: Given groups=1, weight of size [64, 3, 7, 7], expected input[8, 1, 224, 224] "
     "to "
     "have 3 channels, but got 1 channels instead",
     "setup.layer-width"},
    {"RuntimeError: The size of tensor a (128) must match the size of tensor b (64) at "
     "non-singleton dimension 1",
     "setup.shape-mismatch"},
    {"RuntimeError: shape '[32, 784]' is invalid for input of size 12544", "setup.shape-mismatch"},
    {"ValueError: Expected input batch_size (32) to match target batch_size (64).",
     "setup.target-shape"},
    {"RuntimeError: 0D or 1D target tensor expected, multi-target not supported",
     "setup.target-shape"},
    {"RuntimeError: all elements of input should be between 0 and 1", "setup.target-values"},
    {"RuntimeError: Expected all tensors to be on the same device, but found at least two devices, "
     "cuda:0 and cpu!",
     "setup.device-mismatch"},
    {"RuntimeError: Attempting to deserialize object on a CUDA device but "
     "torch.cuda.is_available() is False.",
     "setup.saved-on-cuda"},
    {"RuntimeError: Trying to backward through the graph a second time", "setup.graph-used-twice"},
    {"RuntimeError: one of the variables needed for gradient computation has been modified by an "
     "inplace operation: [torch.FloatTensor [64, 10]]",
     "setup.modified-in-place"},
    {"RuntimeError: grad can be implicitly created only for scalar outputs",
     "setup.loss-not-scalar"},
    {"ValueError: The model did not return a loss from the inputs, only the following keys: "
     "logits.",
     "setup.batch-fields"},
    {"RuntimeError: stack expects each tensor to be equal size, but got [12] at entry 0 and [9] at "
     "entry 1",
     "setup.batch-not-padded"},
    {"ValueError: Expected more than 1 value per channel when training, got input size "
     "torch.Size([1, 4])",
     "setup.batchnorm-batch-of-one"},
    {"AttributeError: Can't pickle local object 'main.<locals>.<lambda>'", "setup.not-picklable"},
    {"AttributeError: 'DistributedDataParallel' object has no attribute 'config'",
     "setup.wrapped-model"},
    {"AttributeError: 'list' object has no attribute 'to'", "setup.wrong-container"},
    {"RuntimeError: Error(s) in loading state_dict for Net: size mismatch for fc.weight: copying a "
     "param with shape torch.Size([10, 512]) from checkpoint, the shape in current model is "
     "torch.Size([5, 512]).",
     "setup.checkpoint-of-another-model"},
    {"RuntimeError: result type Float can't be cast to the desired output type Long",
     "setup.dtype-mismatch"},
    {"RuntimeError: CUDA error: device-side assert triggered", "nan.label-out-of-range"},
};

class Exceptions : public testing::TestWithParam<Case> {};

TEST_P(Exceptions, NameTheMistakeOfTheProgram) {
  // A file of its own: tests run beside each other.
  const std::filesystem::path log = std::filesystem::path(testing::TempDir()) /
                                    ("exception-" + std::to_string(::getpid()) + ".log");
  std::ofstream(log) << "epoch 0 step 10 loss 2.3012\nepoch 0 step 20 loss 2.2711\n"
                     << "Traceback (most recent call last):\n"
                     << "  File \"/home/me/proj/train.py\", line 76, in main\n"
                     << "    loss = crit(model(x), y)\n"
                     << GetParam().exception << "\n";
  const Report report = diagnose({log.string()}, {});
  ASSERT_FALSE(report.causes.empty());
  EXPECT_EQ(report.causes.front().id, GetParam().cause);
  std::filesystem::remove(log);
}

/// `setup_layer_width_0`: the cause, and the place in the list where one has several exceptions.
std::string name_of(const testing::TestParamInfo<Case>& info) {
  std::string name = info.param.cause;
  std::ranges::replace_if(name, [](char c) { return c == '.' || c == '-'; }, '_');
  return name + "_" + std::to_string(info.index);
}

INSTANTIATE_TEST_SUITE_P(OfTheLibraries, Exceptions, testing::ValuesIn(k_cases), name_of);

}  // namespace
}  // namespace aplomb::api
